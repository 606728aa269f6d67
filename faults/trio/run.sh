#!/bin/sh
# run.sh COMMAND...: in a Trio guest, while a fault may strike. The command works in /tmp, on the memory disk and on the
# virtio disk, while lines are written to the console and to the display. Then it is tried whether the system goes on,
# and the command's files in memory are sent out. How each step ended is a JSON line.

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

mkdir /disk/virtio && mount -t minix /dev/vda /disk/virtio
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
	echo written >$each/afterwards && sync && [ "$(cat $each/afterwards)" = written ]
	say afterwards $? $each
done
for each in /tmp /disk/minix; do
	list $each
	say listed $? $each
done
umount /disk/virtio
say unmounted $?
echo '{"event":"finished"}'
