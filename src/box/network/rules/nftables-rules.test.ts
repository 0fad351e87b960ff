import { describe, expect, it } from 'vitest';
import { renderNftables } from './nftables-rules.js';

describe('the table of nftables', () => {
  it('is replaced as a whole and holds the ports, the way out and the guard of the host’s loopback', () => {
    const text = renderNftables({
      bridge: 'podloop0a580000',
      range: '10.88.0.0/16',
      forwards: [
        { protocol: 'tcp', hostIp: '0.0.0.0', hostPort: 8080, containerPort: 80, address: '10.88.0.2' },
        { protocol: 'udp', hostIp: '192.0.2.1', hostPort: 53, containerPort: 53, address: '10.88.0.3' },
      ],
    });
    const opening = [
      'add table ip podloop0a580000',
      'delete table ip podloop0a580000',
      'table ip podloop0a580000 {',
    ];
    expect(text.split('\n').slice(0, 3)).toEqual(opening);
    const lines = text.split('\n').map((line) => line.trim());
    expect(lines).toContain('tcp dport 8080 dnat to 10.88.0.2:80');
    expect(lines).toContain('ip daddr 192.0.2.1 udp dport 53 dnat to 10.88.0.3:53');
    expect(lines).toContain('ip saddr 10.88.0.0/16 oifname != "podloop0a580000" masquerade');
    expect(lines).toContain('iifname "podloop0a580000" ip daddr 127.0.0.0/8 drop');
  });
});
