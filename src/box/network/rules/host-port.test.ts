import { describe, expect, it } from 'vitest';
import { Protocol, type PortMapping } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { type AttachmentRecord } from '../links/attachment-record.js';
import { refuseTakenPorts, toHostPorts } from './host-port.js';

function mapping(change: Partial<PortMapping> = {}): PortMapping {
  return { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '', ...change };
}

function attachment(change: Partial<PortMapping>): AttachmentRecord {
  const holder = { pid: 1, startTicks: '1' };
  const hostPorts = toHostPorts([mapping(change)]);
  return { sandboxId: 'other', bootId: 'b', holder, ips: [], portsBy: 'proxy', hostPorts };
}

describe('the host ports of a pod', () => {
  it('are those of its mappings that name one', () => {
    const udp = mapping({ protocol: Protocol.UDP, hostPort: 53, hostIp: '127.0.0.1' });
    expect(toHostPorts([mapping({ hostPort: 0 }), udp])).toEqual([
      { protocol: 'udp', hostIp: '127.0.0.1', hostPort: 53, containerPort: 80 },
    ]);
  });

  it.each([
    [{ protocol: Protocol.SCTP }, 'TCP and UDP only'],
    [{ hostPort: 65_536 }, 'the port 65536'],
    [{ hostPort: -1 }, 'the port -1'],
    [{ containerPort: 0 }, 'the port 0'],
    [{ hostIp: 'localhost' }, 'host_ip "localhost" is no IP address'],
  ])('are refused when they are like %j', (change, words) => {
    expect(() => toHostPorts([mapping(change)])).toThrow(words);
  });

  it('are refused when one is asked for twice', () => {
    expect(() => toHostPorts([mapping(), mapping({ containerPort: 81 })])).toThrow(
      'twice for host port 8080/tcp',
    );
  });

  it('collide with those of others at the same address, or when one of the two is at every address', () => {
    const collides = (a: Partial<PortMapping>, b: Partial<PortMapping>) => {
      try {
        refuseTakenPorts(toHostPorts([mapping(a)]), [attachment(b)]);
        return false;
      } catch {
        return true;
      }
    };
    expect(collides({}, {})).toBe(true);
    expect(collides({ hostIp: '10.0.0.1' }, { hostIp: '0.0.0.0' })).toBe(true);
    expect(collides({ hostIp: '::' }, { hostIp: '10.0.0.1' })).toBe(true);
    expect(collides({ hostIp: '10.0.0.1' }, { hostIp: '10.0.0.1' })).toBe(true);
    expect(collides({ hostIp: '10.0.0.1' }, { hostIp: '10.0.0.2' })).toBe(false);
    expect(collides({ protocol: Protocol.UDP }, {})).toBe(false);
    expect(collides({ hostPort: 8081 }, {})).toBe(false);
  });
});
