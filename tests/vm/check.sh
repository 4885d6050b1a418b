#!/bin/sh
# The packaged units in a machine of their own: a Debian with systemd and control groups (version 2), made
# with debootstrap and started with qemu. Inside, inside.sh sets it up by docs/install.md, and tries it.
#
#     check.sh BUILD FOLDER         needs root; keeps the Debian in FOLDER, so that the next time is quick
#
# BERTH_VM_ACCEL=kvm|tcg chooses how it runs; BERTH_VM_SECONDS how long it may take (3000).
set -eu

build=$(cd "$1" && pwd) folder=$2
here=$(cd "$(dirname "$0")" && pwd)
console=$folder/console disk=$folder/disk system=$folder/system
seconds=${BERTH_VM_SECONDS:-3000}

for needed in qemu-system-x86_64 debootstrap mke2fs; do
        command -v $needed >/dev/null && continue
        echo "vm-check: skipped, $needed is missing: apt-get install qemu-system-x86 debootstrap e2fsprogs"
        exit 0
done
[ "$(id -u)" = 0 ] || { echo "vm-check: skipped, debootstrap needs root"; exit 0; }
. /etc/os-release
if [ "$ID" != debian ] || [ "$(uname -m)" != x86_64 ]; then
        echo "vm-check: skipped, this is no Debian on x86-64: the programs would not run in one"
        exit 0
fi

# The libraries that the programs want, as packages of this very release.
libraries() {
        for program in berth berthd berth-agent; do
                ldd "$build/$program" | sed -n 's/.*=> \([^ ]*\) .*/\1/p'
        done | sort -u | while read -r path; do
                dpkg -S "$path" 2>/dev/null || dpkg -S "/usr$path" 2>/dev/null || true
        done | cut -d: -f1 | sort -u | tr '\n' ','
}

make_system() {
        [ ! -f "$system/made" ] || return 0
        echo "vm-check: making a Debian $VERSION_CODENAME in $system"
        rm -rf "$system"
        # udev, kmod: for the kernel's modules; initramfs-tools comes before the kernel that wants it.
        debootstrap --variant=minbase --include="systemd-sysv,dbus,udev,kmod,openssl,ca-certificates,\
initramfs-tools,$(libraries)linux-image-amd64" \
                "$VERSION_CODENAME" "$system" >"$folder/debootstrap.log" 2>&1 ||
                { tail -5 "$folder/debootstrap.log"; exit 1; }
        printf 'virtio_pci\nvirtio_blk\next4\n' >>"$system/etc/initramfs-tools/modules"
        chroot "$system" update-initramfs -u >>"$folder/debootstrap.log" 2>&1
        echo '/dev/vda / ext4 defaults 0 1' >"$system/etc/fstab"
        echo '127.0.0.1 localhost berth.example' >"$system/etc/hosts"
        : >"$system/etc/machine-id"
        chroot "$system" useradd -m -s /bin/bash ana
        touch "$system/made"
}

make_disk() {
        DESTDIR=$system meson install -C "$build" --no-rebuild >"$folder/install.log"
        cp "$here/inside.sh" "$system/root/inside.sh"
        printf '%s\n' '[Unit]' 'After=multi-user.target' '[Service]' 'Type=oneshot' \
                'ExecStart=/bin/bash /root/inside.sh' \
                'TimeoutStartSec=infinity' '[Install]' \
                'WantedBy=graphical.target' >"$system/etc/systemd/system/vm-check.service"
        chroot "$system" systemctl -q enable vm-check
        # Whoever logs in there would hang up on what inside.sh says.
        chroot "$system" systemctl -q mask serial-getty@ttyS0
        rm -f "$disk"
        mke2fs -q -t ext4 -d "$system" -F "$disk" 3G >/dev/null
}

start_machine() {
        accel=${BERTH_VM_ACCEL:-tcg}
        [ -n "${BERTH_VM_ACCEL:-}" ] || [ ! -w /dev/kvm ] || ! grep -qwE 'vmx|svm' /proc/cpuinfo || accel=kvm
        qemu-system-x86_64 -accel "$accel" -cpu max -M q35 -smp 2 -m 2048 -display none -nic none -no-reboot \
                -serial "file:$console" -drive "file=$disk,format=raw,if=virtio" \
                -kernel "$system"/vmlinuz -initrd "$system"/initrd.img \
                -append "root=/dev/vda rw console=ttyS0 quiet" &
        machine=$!
        trap 'kill -9 $machine 2>/dev/null || true' EXIT INT TERM
}

# hear LINE: has the machine run until it says that, and shows what it said.
hear() {
        start_machine
        while ! grep -aq "$1" "$console" 2>/dev/null; do
                kill -0 "$machine" 2>/dev/null && [ "$(date +%s)" -lt "$until" ] ||
                        grep -aq "$1" "$console" ||
                        { echo "vm-check: no '$1' came; the end of $console:"; tail -20 "$console"; exit 1; }
                sleep 1
        done
        case $1 in
        *'Restarting system') wait "$machine" || true ;;
        *) kill -9 "$machine"; wait "$machine" 2>/dev/null || true ;;
        esac
        tr -d '\r' <"$console" | grep -aE '^(ok|not ok|#) ' | tee -a "$folder/said" || true
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd) console=$folder/console disk=$folder/disk system=$folder/system
make_system
make_disk
until=$(($(date +%s) + seconds))
rm -f "$folder/said"
hear 'reboot: Restarting system'
hear 'PULL THE PLUG'
hear 'THE END'
failed=$(grep -c '^not ok ' "$folder/said" || true)
echo "vm-check: $(grep -c '^ok ' "$folder/said" || true) passed, $failed failed"
[ "$failed" = 0 ]
