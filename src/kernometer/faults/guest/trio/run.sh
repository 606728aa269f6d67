#!/bin/sh
# run.sh DEVICE COMMAND...: in a Trio guest, while a fault may strike. The command works in /tmp, on the memory disk and on
# the virtio disk, as DEVICE, while lines are written to the console and to the display. Then it is tried whether the
# system goes on, and the command's files are sent out, those of the virtio disk after it is mounted again, so that they
# are read from it. How each step ended is a JSON line.
# /dev/checked is read through before all this, so that it knows each sector, and afterwards, so that it compares each.

say() {
	echo "{\"event\":\"$1\",\"status\":$2,\"directory\":\"$3\"}"
}

list() {
	files=$(busybox find "$1"/w* -type f) || return 1
	for path in $files; do
		content=$(busybox base64 -w 0 "$path") || return 1
		echo "{\"event\":\"file\",\"path\":\"$path\",\"content\":\"$content\"}"
	done
}

through() {
	[ "$device" != /dev/checked ] || cat "$device" >/dev/null
	say "$1" $?
}

device=$1
shift
through known
mkdir /disk/virtio && mount -t minix "$device" /disk/virtio
say mounted $?
while busybox usleep 5000; do
	echo "a line on the console" >/dev/console
	echo "some of its pixels" >/dev/fb0
done 2>/dev/null &
others=$!
"$@" 2>/dev/null
say worker $?
kill $others
for each in /tmp /disk/minix /disk/virtio; do
	echo written >$each/afterwards && sync && content=$(cat $each/afterwards)
	status=$?
	[ $status != 0 ] || [ "$content" = written ] || status=2 # as the worker's: wrong data
	say afterwards $status $each
done
for each in /tmp /disk/minix; do
	list $each
	say listed $? $each
done
umount /disk/virtio
say unmounted $?
mount -t minix "$device" /disk/virtio
say mounted $?
list /disk/virtio
say listed $? /disk/virtio
umount /disk/virtio
say unmounted $?
through compared
echo '{"event":"finished"}'
