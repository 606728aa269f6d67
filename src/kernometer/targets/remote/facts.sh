#!/bin/sh
# Prints the files below $1 in which Linux tells about itself and its processors, each line after its file's path and a
# colon; of cpuinfo the first processor alone. host/check.py reads no others for one moment.
cd "$1" || exit
sed -n "/^\$/q;s,^,proc/cpuinfo:,p" proc/cpuinfo
cpu=sys/devices/system/cpu
set -- proc/cmdline proc/loadavg proc/meminfo proc/self/status proc/self/cgroup etc/os-release
set -- "$@" proc/sys/kernel/osrelease proc/sys/kernel/version proc/sys/kernel/randomize_va_space
set -- "$@" sys/class/dmi/id/sys_vendor sys/class/dmi/id/product_name sys/hypervisor/type
set -- "$@" sys/class/power_supply/*/type sys/class/power_supply/*/status sys/class/power_supply/*/online
set -- "$@" $cpu/online $cpu/isolated $cpu/vulnerabilities/* $cpu/smt/active $cpu/smt/control
set -- "$@" $cpu/intel_pstate/no_turbo $cpu/cpufreq/boost $cpu/cpu0/cpufreq/scaling_driver
set -- "$@" $cpu/cpu*/cpufreq/scaling_governor $cpu/cpu*/topology/physical_package_id $cpu/cpu*/topology/core_id
set -- "$@" sys/devices/system/clocksource/clocksource0/current_clocksource
set -- "$@" sys/devices/system/clocksource/clocksource0/available_clocksource
set -- "$@" sys/kernel/mm/transparent_hugepage/enabled sys/kernel/debug/sched/preempt
group=$(sed -n "s/^0:://p;s/^[0-9]*:[^:]*cpu[,:][^/]*//p" proc/self/cgroup | head -n 1)
group=${group%/}
while :; do
	for top in sys/fs/cgroup sys/fs/cgroup/unified sys/fs/cgroup/cpu sys/fs/cgroup/cpu,cpuacct; do
		set -- "$@" "$top$group/cpu.max" "$top$group/cpu.cfs_quota_us" "$top$group/cpu.cfs_period_us"
	done
	[ -n "$group" ] || break
	group=${group%/*}
done
exec grep -s "" "$@" /dev/null
