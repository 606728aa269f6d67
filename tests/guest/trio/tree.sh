#!/bin/busybox sh
# shellcheck shell=dash
# Files, trees, links and an archive on the disk $1, which is a MINIX file system; says what is wrong, if anything.
set -e
mkdir -p /mnt
mount -t minix "$1" /mnt
cd /mnt
mkdir a a/b a/b/c
for i in 1 2 3 4 5 6 7 8 9; do echo "file $i" >a/b/f$i; done
ln a/b/f1 hard
ln -s a/b/f2 soft
cat soft hard
cp /bin/busybox busybox
cmp busybox /bin/busybox
tar cf t.tar a hard soft
mkdir x
tar xf t.tar -C x
mv a/b x/moved
rm -r x/a x/moved/f3
./busybox echo run from the disk
cd /
umount /mnt
mount -t minix "$1" /mnt
cmp /mnt/busybox /bin/busybox
find /mnt -type f | sort
find /mnt/x/moved -mindepth 1 -maxdepth 1 | wc -l
umount /mnt
