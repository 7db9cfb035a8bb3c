#!/bin/sh
# Makes the disk of a virtual machine of Debian 12's packages: vm.sh DIR [ARCH], such as: vm.sh bin/vm-arm64 arm64. ARCH
# is amd64 without that. Takes root, debootstrap and mke2fs, and qemu-user-static for an architecture that is not this
# machine's. Does nothing if it is there and made by this very script.
#
# DIR gets disk.img, kernel, initrd, key and host.pub, by which ssh gets in, and busybox with the names of its applets, of
# which lab/vm makes images. The files have the labels of Debian's SELinux policy, so that no boot has to give them. What a
# node has besides, lab/vm brings when it boots the disk.
set -eu
script=$(realpath "$0")
dir=$1 arch=${2:-amd64}
case $arch in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*) echo "vm: no machine of architecture $arch: amd64 and arm64 are possible" >&2; exit 1 ;;
esac
made="$(sha256sum <"$script") $arch"

if [ "$(cat "$dir/.built" 2>/dev/null)" = "$made" ]; then
	echo "$dir is there"
	exit 0
fi
for program in debootstrap mke2fs; do
	command -v $program >/dev/null || { echo "vm: no $program here: run \`make vm-deps\`" >&2; exit 1; }
done
if [ "$(id -u)" -ne 0 ]; then
	echo "vm: making a machine's disk needs root: run it with sudo" >&2
	exit 1
fi
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -f "$dir/.built"
root=$dir/root
rm -rf "$root"
undo=
trap 'rm -rf "$root"; eval "$undo"' EXIT

# The kernel starts programs of another architecture by an emulator, while it knows the emulator.
if [ "$(uname -m)" != $machine ]; then
	binfmt=/proc/sys/fs/binfmt_misc conf=/usr/lib/binfmt.d/qemu-$machine.conf
	[ -e $conf ] || { echo "vm: no qemu-user-static here: run \`make vm-deps\`" >&2; exit 1; }
	if [ ! -e $binfmt/register ]; then
		mount -t binfmt_misc binfmt_misc $binfmt
		undo="umount $binfmt"
	fi
	if [ ! -e $binfmt/qemu-$machine ]; then
		cat $conf >$binfmt/register
		undo="echo -1 >$binfmt/qemu-$machine; $undo"
	fi
fi

# From where this machine has its packages, if it is a Debian 12 itself.
mirror=
if command -v apt-get >/dev/null; then
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Component: main' 'Created-By: Packages' | head -n 1)
fi
packages=systemd,systemd-sysv,libpam-systemd,dbus,udev,kmod,linux-image-$arch,iproute2,procps,openssh-server
packages=$packages,containerd,runc,containernetworking-plugins,busybox-static
packages=$packages,selinux-basics,selinux-policy-default
# The initrd is made below, once. That takes long, too, where an emulator runs.
INITRD=No debootstrap --arch="$arch" --variant=minbase --include="$packages" bookworm "$root" $mirror >"$dir/debootstrap.log" ||
	{ tail -n 20 "$dir/debootstrap.log" >&2; exit 1; }

echo debian >"$root/etc/hostname"
printf '127.0.0.1 localhost debian\n10.0.2.2 kubernetes\n' >"$root/etc/hosts"
printf '[Match]\nName=en* eth*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n' >"$root/etc/systemd/network/qemu.network"
chroot "$root" systemctl -q enable systemd-networkd
chroot "$root" systemctl -q mask systemd-networkd-wait-online getty@tty1 serial-getty@ttyS0 serial-getty@ttyAMA0 apt-daily.timer apt-daily-upgrade.timer
# The node starts when it is configured.
chroot "$root" systemctl -q disable containerd
sed -i 's/^SELINUX=.*/SELINUX=enforcing/' "$root/etc/selinux/config"

# Emulated, a machine takes long to unpack what it does not need.
sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=gzip/' "$root/etc/initramfs-tools/initramfs.conf"
printf 'virtio_pci\nvirtio_blk\next4\n' >>"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -c -k all >/dev/null

mkdir -p -m 700 "$root/root/.ssh"
chroot "$root" ssh-keygen -q -t ed25519 -N '' -C podstep -f /root/.ssh/id
mv "$root/root/.ssh/id.pub" "$root/root/.ssh/authorized_keys"
mv -f "$root/root/.ssh/id" "$dir/key"
cp "$root/etc/ssh/ssh_host_ed25519_key.pub" "$dir/host.pub"

# By the policy's own tool, which needs /proc: mounted where nobody else sees it.
unshare -m sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" setfiles -m -F -e /proc /etc/selinux/default/contexts/files/file_contexts /' sh "$root"
cp "$root/bin/busybox" "$dir/busybox"
chroot "$root" busybox --list >"$dir/applets"
cp "$root"/boot/vmlinuz-* "$dir/kernel"
cp "$root"/boot/initrd.img-* "$dir/initrd"
rm -rf "$root"/var/cache/apt/archives/*.deb
rm -f "$dir/disk.img"
mke2fs -q -t ext4 -d "$root" "$dir/disk.img" 6G

echo "$made" >"$dir/.built"
echo "$dir is made"
