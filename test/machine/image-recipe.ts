import { createHash } from 'node:crypto';

/** The images that a machine can boot. */
export const IMAGES = ['debian13', 'containerd2'] as const;
export type ImageName = (typeof IMAGES)[number];

/** What each image is, in one line, for help and for the page of results. */
export const IMAGE_WORDS: Readonly<Record<ImageName, string>> = {
  debian13: 'Debian 13 with its own containerd 1.7 and runc',
  containerd2: 'Debian 13 with the containerd 2.x of Debian unstable, and crun',
};

/** The user without rights: suites of the rootless runtime run as this one. */
export const ORDINARY_USER = 'ordinary';

/** The suite of Debian that both images are made of. */
export const DEBIAN_SUITE = 'trixie';

/** Raised whenever something else than the packages changes what lies in an image. */
const LAYOUT = 3;

/** The packages that mmdebstrap installs; what they depend on comes along. */
export const PACKAGES: readonly string[] = [
  ...['systemd', 'systemd-sysv', 'systemd-resolved', 'systemd-oomd', 'libpam-systemd', 'dbus-user-session'],
  ...['udev', 'dbus', 'linux-image-cloud-amd64', 'apparmor', 'kmod', 'procps', 'uidmap', 'openssh-server'],
  ...['nodejs', 'containerd', 'runc', 'crun', 'containernetworking-plugins', 'busybox-static'],
  ...['iproute2', 'nftables', 'iptables', 'dmsetup', 'e2fsprogs', 'ca-certificates', 'socat'],
  ...['quota', 'xfsprogs', 'nfs-kernel-server', 'nbd-server', 'nbd-client'],
];

/** Units that cost an emulated machine time and that no test needs. */
const DISABLED_UNITS = [
  ...['apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_reap', 'e2scrub_all.timer'],
  // Started by the tests that need them.
  ...[
    'nfs-server',
    'nfs-client.target',
    'nfs-blkmap',
    'rpcbind.service',
    'rpcbind.socket',
    'nbd-server',
    'nbd-client',
  ],
];

/** The name under which everything made of these packages is cached: another list, another name. */
export function computeImageKey(packages: readonly string[] = PACKAGES): string {
  const recipe = { LAYOUT, DEBIAN_SUITE, packages: [...packages].sort(), script: configureScript() };
  return createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 12);
}

/** A shell script that makes a node of a fresh root file system, whose folder is its first argument. */
export function configureScript(): string {
  const network = '[Match]\nName=en* eth*\n[Network]\nDHCP=yes\n';
  const patience = '[Manager]\nDefaultTimeoutStartSec=30min\nDefaultDeviceTimeoutSec=30min\n';
  return [
    'set -eu',
    'root=$1',
    writeFile('/etc/hostname', 'node\n'),
    writeFile('/etc/hosts', '127.0.0.1 localhost\n127.0.1.1 node\n::1 localhost\n'),
    writeFile('/etc/fstab', '/dev/vda / ext4 rw 0 1\n'),
    writeFile('/etc/systemd/network/50-all.network', network),
    // An emulated machine on a busy host takes minutes for what a real one does in seconds.
    writeFile('/etc/systemd/system.conf.d/50-machine.conf', patience),
    writeFile('/etc/systemd/user.conf.d/50-machine.conf', patience),
    writeFile('/etc/ssh/sshd_config.d/50-machine.conf', 'UseDNS no\nMaxSessions 100\nLoginGraceTime 10m\n'),
    // Every run makes an id of its own, as a first boot does.
    ': > "$root/etc/machine-id"',
    `chroot "$root" useradd --create-home --shell /bin/bash ${ORDINARY_USER}`,
    `mkdir -p "$root/var/lib/systemd/linger" && : > "$root/var/lib/systemd/linger/${ORDINARY_USER}"`,
    'chroot "$root" systemctl --quiet enable systemd-networkd systemd-resolved ssh',
    // Not every release has all of them.
    ...DISABLED_UNITS.map((unit) => `chroot "$root" systemctl --quiet disable ${unit} 2>/dev/null || true`),
    'ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"',
    'rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale"',
  ].join('\n');
}

function writeFile(file: string, text: string): string {
  return `mkdir -p "$root${file.slice(0, file.lastIndexOf('/'))}" && printf '%s' '${text}' > "$root${file}"`;
}
