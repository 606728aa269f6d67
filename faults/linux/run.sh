#!/bin/sh
# run.sh PANIC SUBJECT MODULE-WORD… -- COMMAND…: in a Linux guest, one fault while the command works in /work.
# It says how each step ended, as a JSON line with the guest's clock in seconds. A step that does not end is left.

say() {
	echo "{\"event\":\"$1\",\"seconds\":$(cut -d ' ' -f 1 /proc/uptime)${2:+,$2}}"
}

# step NAME LIMIT COMMAND…: status null if the command has not ended after LIMIT seconds of the guest's clock.
step() {
	name=$1 limit=$2
	shift 2
	{ "$@"; echo $? >"/tmp/$name"; } 2>/dev/null &
	while [ ! -s "/tmp/$name" ] && [ "$limit" -gt 0 ]; do
		sleep 1
		limit=$((limit - 1))
	done
	say "$name" "\"status\":$(cat "/tmp/$name" 2>/dev/null || echo null)"
}

# The addresses of the subject's functions, as the module's parameter `add` takes them.
addresses() {
	case $1 in
	8250) awk '$2 ~ /[tT]/ && $4 == "" && $3 ~ /^(serial8250|univ8250|io_serial)_/ { print $1 }' /proc/kallsyms ;;
	*) awk -v m="[$1]" '$2 ~ /[tT]/ && $4 == m { print $1 }' /proc/kallsyms ;;
	esac | xargs -n 200 | tr ' ' ','
}

panic=$1 subject=$2 words=
shift 2
while [ "$1" != -- ]; do
	words="$words $1"
	shift
done
shift

for each in $(busybox --list); do [ -e "/bin/$each" ] || ln -s busybox "/bin/$each"; done
mkdir /work
case $subject in
brd) mount --bind /disk/minix /work ;;
minix) umount /disk/minix && mount -t minix /dev/vdb /work ;;
*) umount /disk/minix && mount -t ext4 /dev/vda /work ;;
esac || say failed
echo "$panic" >/proc/sys/kernel/panic_on_oops
if [ "$subject" = 8250 ]; then
	while sleep 0.1; do echo "a line on the console" >/dev/ttyS0; done &
fi
if [ -n "$words" ]; then
	# shellcheck disable=SC2086 # each is a parameter of the module
	insmod /lib/drivers/km_fault.ko $words || say refused
fi
set_up=/sys/module/km_fault/parameters
counting=
case $words in *kind=count*) counting=1 ;; esac
if [ "$counting" ]; then
	addresses "$subject" | while read -r some; do echo "$some" >$set_up/add; done
	echo 1 >$set_up/counting
fi
say begin
step worker 60 "$@"
if [ "$counting" ]; then
	echo 0 >$set_up/counting
fi
step afterwards 20 sh -c 'echo written >/work/afterwards && sync && [ "$(cat /work/afterwards)" = written ]'
if [ "$subject" = 8250 ]; then
	step console 20 sh -c 'echo afterwards >/dev/ttyS0'
fi
step unmount 20 umount /work
say end
