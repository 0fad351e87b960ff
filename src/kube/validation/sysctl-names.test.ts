import { describe, expect, it } from 'vitest';
import { checkSysctlPattern, findSysctlProblem, normalizeSysctl } from './sysctl-names.js';

describe('a sysctl of a pod', () => {
  it.each([
    ['kernel.shm_rmid_forced', []],
    ['net/ipv4/tcp_syncookies', []],
    ['net.core.somaxconn', ['net.core.*']],
    ['kernel.msgmax', ['kernel/msg*']],
    ['kernel.sem', ['kernel.sem']],
  ])('may be %s if %j are allowed', (name, allowed) => {
    expect(findSysctlProblem(name, {}, allowed)).toBeUndefined();
  });

  it('may be one of its users if it has its own, and if the node allows it', () => {
    const allowed = ['user.max_*'];
    const name = 'user.max_user_namespaces';
    expect(findSysctlProblem(name, { hostUsers: false }, allowed)).toBeUndefined();
    for (const pod of [{}, { hostUsers: true }]) {
      expect(findSysctlProblem(name, pod, allowed)).toBe(`"${name}" not allowed with host user enabled`);
    }
    expect(findSysctlProblem(name, { hostUsers: false }, [])).toBe(`"${name}" not allowlisted`);
  });

  it.each<[string, object, readonly string[], string]>([
    ['net.core.somaxconn', {}, [], '"net.core.somaxconn" not allowlisted'],
    ['net/core/somaxconn', {}, ['net.ipv4.*'], '"net.core.somaxconn" not allowlisted'],
    ['vm.swappiness', {}, ['*'], '"vm.swappiness" not allowlisted'],
    [
      'net.ipv4.tcp_syncookies',
      { hostNetwork: true },
      [],
      '"net.ipv4.tcp_syncookies" not allowed with host net enabled',
    ],
    [
      'kernel.msgmax',
      { hostIPC: true },
      ['kernel.msg*'],
      '"kernel.msgmax" not allowed with host ipc enabled',
    ],
  ])('may not be %s for %j if %j are allowed', (name, pod, allowed, problem) => {
    expect(findSysctlProblem(name, pod, allowed)).toBe(problem);
  });

  it('may have either separator between its parts', () => {
    expect(normalizeSysctl('net/ipv4/conf/eth0.100/mtu')).toBe('net.ipv4.conf.eth0/100.mtu');
    expect(normalizeSysctl('net.ipv4.conf.eth0/100.mtu')).toBe('net.ipv4.conf.eth0/100.mtu');
  });
});

describe('a pattern of allowed sysctls', () => {
  it.each(['net.core.*', 'net.*', 'user.*', 'kernel.sem', 'kernel.shm*', 'net/core/somaxconn'])(
    'may be %s',
    (text) => {
      expect(checkSysctlPattern(text)).toBeUndefined();
    },
  );

  it.each(['*', 'kernel.*', 'vm.swappiness', 'net.*.x', '', 'Net.x'])('cannot be %j', (text) => {
    expect(checkSysctlPattern(text)).toBeTypeOf('string');
  });
});
