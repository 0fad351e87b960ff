import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  ContainerConfig,
  PodSandboxConfig,
  type DeepPartial,
} from '../watch/cri/generated/runtime/v1/cri.js';
import { checkContainerValues, checkSandboxValues } from './value-checks.js';

type Sandbox = DeepPartial<PodSandboxConfig>;
type Container = DeepPartial<ContainerConfig>;

function checkSandbox(config: Sandbox): void {
  checkSandboxValues(PodSandboxConfig.fromPartial({ metadata: { name: 'p' }, ...config }));
}

function checkContainer(config: Container): void {
  checkContainerValues(ContainerConfig.fromPartial({ metadata: { name: 'c' }, ...config }));
}

const modes = (namespaceOptions: object): Sandbox & Container => ({
  linux: { securityContext: { namespaceOptions } },
});
const LONG = 'x'.repeat(1_000_000);

const BAD_SANDBOXES: [Sandbox, string][] = [
  [{ metadata: {} }, 'metadata has no name'],
  [{ metadata: { name: LONG } }, 'metadata.name has 1000000 characters; 1024 are allowed'],
  [{ metadata: { name: 'a', namespace: LONG } }, 'metadata.namespace has'],
  [{ metadata: { name: 'a', uid: LONG } }, 'metadata.uid has'],
  [{ metadata: { name: 'a\0b' } }, 'metadata.name holds'],
  [{ metadata: { name: 'a', uid: 'a\nb' } }, 'metadata.uid holds'],
  [{ hostname: 'x'.repeat(65) }, 'hostname has 65 characters; 64 are allowed'],
  ...['--help', '-a', 'a-', 'a.-b', 'a..b', '.', 'a b', 'a/b', 'a\nb', 'a\0b', 'a_b', 'x'.repeat(64)].map(
    (hostname): [Sandbox, string] => [{ hostname }, 'is no name of a host'],
  ),
  [{ dnsConfig: { servers: ['1.1.1.1\nnameserver 6.6.6.6'] } }, 'dns_config.servers'],
  [{ dnsConfig: { servers: [''] } }, 'dns_config.servers'],
  [{ dnsConfig: { searches: ['a\nb'] } }, 'dns_config.searches'],
  [{ dnsConfig: { searches: ['a b'] } }, 'dns_config.searches'],
  [{ dnsConfig: { options: ['ndots:5\rx'] } }, 'dns_config.options'],
  [{ linux: { sysctls: { 'net.x': '1\n2' } } }, 'the value of sysctl "net.x"'],
  [{ linux: { sysctls: { 'net.x': '1\0' } } }, 'the value of sysctl "net.x"'],
  [{ linux: { sysctls: { 'net.x': LONG } } }, 'the value of sysctl "net.x"'],
  [{ linux: { sysctls: { [LONG]: '1' } } }, 'a sysctl’s name'],
  [{ logDirectory: '/a\0b' }, 'log_directory'],
  [modes({ network: 7 }), 'namespace_options.network cannot be 7'],
  [modes({ pid: 9 }), 'namespace_options.pid cannot be 9'],
  [modes({ ipc: -1 }), 'namespace_options.ipc cannot be -1'],
  [modes({ usernsOptions: { mode: 4 } }), 'namespace_options.userns cannot be 4'],
];

const BAD_CONTAINERS: [Container, string][] = [
  [{ metadata: {} }, 'metadata.name is empty'],
  [{ metadata: { name: LONG } }, 'metadata.name has'],
  [{ metadata: { name: 'a\0' } }, 'metadata.name holds'],
  [{ logPath: LONG }, 'log_path has'],
  [{ stopSignal: 999 as never }, 'stop_signal cannot be 999'],
  [{ stopSignal: -3 as never }, 'stop_signal cannot be -3'],
  [modes({ pid: 9 }), 'namespace_options.pid cannot be 9'],
  [{ linux: { securityContext: { seccomp: { profileType: 3 as never } } } }, 'seccomp.profile_type'],
  [{ linux: { securityContext: { supplementalGroupsPolicy: 2 as never } } }, 'supplemental_groups_policy'],
];

describe('the values of a request', () => {
  it.each(BAD_SANDBOXES)('that no sandbox can have are refused: %#', (config, said) => {
    expect(() => checkSandbox(config)).toThrow(expect.objectContaining({ code: status.INVALID_ARGUMENT }));
    expect(() => checkSandbox(config)).toThrow(said);
  });

  it.each(BAD_CONTAINERS)('that no container can have are refused: %#', (config, said) => {
    expect(() => checkContainer(config)).toThrow(expect.objectContaining({ code: status.INVALID_ARGUMENT }));
    expect(() => checkContainer(config)).toThrow(said);
  });

  it('that agents send are taken', () => {
    for (const hostname of [
      '',
      'a',
      'web-0',
      'WEB',
      `${'x'.repeat(31)}.${'y'.repeat(32)}`,
      'a.b.svc.cluster.local',
      '10',
    ])
      checkSandbox({ hostname });
    checkSandbox({
      metadata: { name: 'x'.repeat(253), namespace: 'kube-system', uid: 'web_1' },
      dnsConfig: { servers: ['10.0.0.10', 'fe80::1%eth0'], searches: ['a.svc', '.'], options: ['ndots:5'] },
      linux: { sysctls: { 'net.ipv4.ip_local_port_range': '1024\t65000' } },
      ...modes({}),
    });
    checkContainer({ metadata: { name: 'a' }, stopSignal: 15, ...modes({ pid: 3, targetId: 'x' }) });
    expect(() => checkContainer(modes({ pid: 1 }))).not.toThrow();
  });
});
