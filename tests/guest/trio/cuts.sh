# shellcheck shell=dash
# Writes, renames, links and removes on the disk without end, and says on the console which round the disk is to have.
exec >/dev/console
mkdir /mnt && mount -t minix /dev/vda /mnt && cd /mnt && mkdir a b && sync && echo begun
i=0
while :; do
	i=$((i + 1))
	seq $((i * 1000)) $((i * 1000 + i * 37 % 700)) >new
	case $((i % 3)) in
	0) mv new a/f$((i % 7)) && sync ;;
	1) mv new b/new && mv b/new a/f$((i % 7)) && sync a/f$((i % 7)) ;;
	2) ln -f new b/l && rm -f a/f$((i % 7)) && mv new a/f$((i % 7)) && sync ;;
	esac
	echo "synced $i."
done
