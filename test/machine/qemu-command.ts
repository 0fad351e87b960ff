import { accessSync, constants, readFileSync } from 'node:fs';

/** How much of this machine one emulated machine gets. */
const CPUS = 2;
const MEMORY_MB = 4096;

/**
 * Old enough that everything it promises is emulated right: with `max`, native addons died of illegal instructions.
 * Node and the programs of Debian 13 need no more.
 */
const EMULATED_CPU = 'Nehalem';

/** What an emulator is started with; paths absolute. */
export interface EmulatorOptions {
  readonly kernel: string;
  readonly initrd: string;
  /** A qcow2 file: everything that this machine writes. */
  readonly disk: string;
  /** How the emulator writes it: `unsafe` never waits for the disk, `writethrough` and `none` keep its promises. */
  readonly cache: 'unsafe' | 'writeback' | 'writethrough' | 'none';
  /** A raw disk, which the machine sees as /dev/vdb; what it writes there is gone with the emulator. */
  readonly payload?: string;
  readonly consoleLog: string;
  /** On the loopback address: leads to port 22 of the machine. */
  readonly sshPort: number;
  /** The public key that root may come with. */
  readonly publicKey: string;
  readonly acceleration: 'kvm' | 'tcg';
  /** Appended to the kernel's command line. */
  readonly kernelWords?: readonly string[];
  /** More arguments of the emulator, such as further disks. */
  readonly more?: readonly string[];
}

/** The arguments of qemu-system-x86_64. */
export function emulatorArguments(options: EmulatorOptions): string[] {
  const { kernel, initrd, disk, cache, payload, consoleLog, sshPort, publicKey, acceleration } = options;
  const key = Buffer.from(publicKey.trim()).toString('base64');
  const words = [
    ...[
      'root=/dev/vda',
      'rw',
      'console=ttyS0',
      'net.ifnames=0',
      'apparmor=1',
      'security=apparmor',
      'panic=-1',
    ],
    // systemd puts the key where sshd finds it: nothing of a run is in the image.
    `systemd.set_credential_binary=ssh.authorized_keys.root:${key}`,
    ...(options.kernelWords ?? []),
  ];
  return [
    ...['-machine', 'q35', ...accelerationArguments(acceleration)],
    ...['-smp', String(CPUS), '-m', String(MEMORY_MB)],
    ...['-kernel', kernel, '-initrd', initrd, '-append', words.join(' ')],
    ...['-drive', `file=${disk},if=virtio,format=qcow2,cache=${cache},discard=unmap`],
    ...(payload === undefined ? [] : ['-drive', `file=${payload},if=virtio,format=raw,snapshot=on`]),
    ...[
      '-netdev',
      `user,id=net0,hostfwd=tcp:127.0.0.1:${sshPort}-:22`,
      '-device',
      'virtio-net-pci,netdev=net0',
    ],
    ...['-device', 'virtio-rng-pci'],
    ...['-serial', `file:${consoleLog}`, '-display', 'none', '-monitor', 'none', '-no-reboot', '-nodefaults'],
    ...(options.more ?? []),
  ];
}

function accelerationArguments(acceleration: 'kvm' | 'tcg'): string[] {
  return acceleration === 'kvm'
    ? ['-accel', 'kvm', '-cpu', 'host']
    : ['-accel', 'tcg,thread=multi', '-cpu', EMULATED_CPU];
}

/** Whether the processor's flags say that a kernel can run on it in a virtual machine. */
export function hasVirtualization(cpuinfo: string): boolean {
  return /^flags\s*:.*\b(?:vmx|svm)\b/m.test(cpuinfo);
}

/**
 * KVM where the processor has it and the device opens. A device without the processor's flags is of no use: it cannot
 * run the kernel of a distribution.
 */
export function findAcceleration(): 'kvm' | 'tcg' {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return hasVirtualization(readFileSync('/proc/cpuinfo', 'utf8')) ? 'kvm' : 'tcg';
  } catch {
    return 'tcg';
  }
}
