#!/bin/sh
# run.sh PANIC SUBJECT MODULE-WORD… -- [COMMAND…]: in a Linux guest, one fault while the command works in /volume, or none
# with kind=none. Without words for the module the entries of the subject's functions are counted; without a command the
# disk's files are sent out. It says how each step ended, as a JSON line with the guest's clock in seconds. A step that
# does not end is left.

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

# Counts the entries of the subject's functions from now on. (The kernel's own profile of functions is not built in.)
count() {
	mount -t tracefs tracefs $trace
	echo 65536 >$trace/buffer_size_kb
	echo nocontext-info >$trace/trace_options
	echo noprint-parent >$trace/trace_options
	echo "$filter" >$trace/set_ftrace_filter
	echo function >$trace/current_tracer
}

# A line for each entered function, unless several of the subject's have its name.
counted() {
	echo 0 >$trace/tracing_on
	grep -E "$listed" /proc/kallsyms | awk '{ print $3 }' | sort | uniq -d >/tmp/shared
	grep -v '^#' $trace/trace | sort | uniq -c | grep -v -w -F -f /tmp/shared | while read -r entries name; do
		echo "{\"event\":\"entries\",\"symbol\":\"$module$name\",\"entries\":$entries}"
	done
}

# A new file in each directory.
write_everywhere() {
	find /volume -type d ! -name more >/tmp/directories && while read -r directory; do
		echo written >"$directory/afterwards" && grep -q written "$directory/afterwards" || return 1
	done </tmp/directories && sync
}

send_files() {
	find /volume -type f | while read -r file; do
		echo "{\"event\":\"file\",\"path\":\"$file\",\"content\":\"$(base64 -w 0 "$file")\"}"
	done
}

panic=$1 subject=$2 words=
shift 2
trace=/sys/kernel/tracing filter=:mod:$subject module=$subject: listed="\\[$subject\\]"
if [ "$subject" = 8250 ]; then
	filter='serial8250_* univ8250_* io_serial_*' module='' listed=' (serial8250|univ8250|io_serial)_[^ ]*$'
fi
while [ "$1" != -- ]; do
	words="$words $1"
	shift
done
shift

for each in $(busybox --list); do [ -e "/bin/$each" ] || ln -s busybox "/bin/$each"; done
mkdir /volume
case $subject in
brd) mount --bind /disk/minix /volume ;;
minix) umount /disk/minix && mount -t minix /dev/vdb /volume ;;
*) umount /disk/minix && mount -t ext4 /dev/vda /volume ;;
esac || say failed
say mounted
if [ $# = 0 ]; then
	send_files && say finished
	exit
fi
echo "$panic" >/proc/sys/kernel/panic_on_oops
while sleep 0.1 && [ ! -s /tmp/worker ]; do
	echo 3 >/proc/sys/vm/drop_caches # so that reads reach the disk
	[ "$subject" != 8250 ] || echo "a line on the console" >/dev/ttyS0
done &
# shellcheck disable=SC2086 # each is a parameter of the module
if [ "$words" = " kind=none" ]; then
	: # neither a fault nor counting
elif [ "$words" ]; then
	insmod /lib/drivers/km_fault.ko $words || say refused
else
	count
fi
say begin
step worker 30 "$@"
[ "$words" ] || counted
step afterwards 10 write_everywhere
if [ "$subject" = 8250 ]; then
	step console 10 sh -c 'echo afterwards >/dev/ttyS0'
fi
[ "$subject" != brd ] || step files 10 send_files
step unmount 10 umount /volume
say finished
