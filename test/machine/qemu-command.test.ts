import { describe, expect, it } from 'vitest';
import { emulatorArguments, type EmulatorOptions, hasVirtualization } from './qemu-command.js';

const OPTIONS: EmulatorOptions = {
  ...{ kernel: '/image/vmlinuz', initrd: '/image/initrd.img', disk: '/run/disk.qcow2', cache: 'unsafe' },
  ...{ consoleLog: '/run/console.log', sshPort: 2022, publicKey: 'ssh-ed25519 AAAA machine\n' },
  acceleration: 'tcg',
};
const afterEach = (args: readonly string[], flag: string): string[] =>
  args.flatMap((arg, index) => (arg === flag ? [args[index + 1]!] : []));

describe('the emulator', () => {
  it('writes to the disk of the run and leaves the payload as it is', () => {
    const args = emulatorArguments({ ...OPTIONS, payload: '/run/payload.img' });
    expect(afterEach(args, '-drive')).toEqual([
      'file=/run/disk.qcow2,if=virtio,format=qcow2,cache=unsafe,discard=unmap',
      'file=/run/payload.img,if=virtio,format=raw,snapshot=on',
    ]);
  });

  it('listens on the loopback address only', () => {
    const [network] = afterEach(emulatorArguments(OPTIONS), '-netdev');
    expect(network).toContain('hostfwd=tcp:127.0.0.1:2022-:22');
  });

  it('gives the key of the run on the kernel’s command line, and further words behind it', () => {
    const args = emulatorArguments({ ...OPTIONS, kernelWords: ['quiet', 'x=1'] });
    const [words] = afterEach(args, '-append');
    const credential = /ssh\.authorized_keys\.root:(\S+)/.exec(words ?? '')?.[1] ?? '';
    expect(Buffer.from(credential, 'base64').toString()).toBe('ssh-ed25519 AAAA machine');
    expect(words).toMatch(/ quiet x=1$/);
  });

  it('is an old processor where it is emulated, and the machine’s own with KVM', () => {
    expect(afterEach(emulatorArguments(OPTIONS), '-cpu')).toEqual(['Nehalem']);
    expect(afterEach(emulatorArguments({ ...OPTIONS, acceleration: 'kvm' }), '-cpu')).toEqual(['host']);
  });
});

it.each([
  ['flags\t\t: fpu vme svm lm', true],
  ['flags : fpu vmx lm', true],
  ['flags\t: fpu lm hypervisor', false],
  ['model name : a vmx svm\nflags : fpu lm', false],
  ['flags : fpu lm vmmcall avmx', false],
  ['', false],
])('whether the processor virtualizes is read from its flags: %j', (cpuinfo, expected) => {
  expect(hasVirtualization(cpuinfo)).toBe(expected);
});
