/* trio/notify, trio/grant, trio/irq: units that no program on Trio can cause alone, in any structure. GNU Mach has a
 * grant (../../../mach). */
#include "unit.h"

static void *trio_notify_setup(struct km *km)
{
	km_unsupported(km, "no program can cause one and nothing else");
}

static void *trio_grant_setup(struct km *km)
{
	km_unsupported(km, "a grant is made for one call, and is part of it (trio/call): none moves a page");
}

#define TRIO_ABSENT_ROW .source = "beyond the sources", .points = KM_POINTS({ .profile = QUICK, .path_n = 100 })

const struct workload trio_notify = {
	.name = "trio/notify",
	.per = "notification",
	TRIO_ABSENT_ROW,
	.what = "a notification of one service by another",
	.inside = "nothing else",
	.setup = trio_notify_setup,
};

const struct workload trio_grant = {
	.name = "trio/grant",
	.per = "page",
	TRIO_ABSENT_ROW,
	.what = "a page moved from one address space to another",
	.inside = "a call of the other task with the page, and its reply; not what becomes of the page",
	.setup = trio_grant_setup,
};

const struct workload trio_irq = {
	.name = "trio/irq",
	.per = "interrupt",
	TRIO_ABSENT_ROW,
	.what = "an interrupt delivered to a driver",
	.inside = "nothing else",
	.setup = trio_notify_setup,
};
