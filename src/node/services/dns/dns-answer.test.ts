import fc from 'fast-check';
import { type Answer, decode, encode, type Packet } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { aService, anEndpointPod } from '#support/builders/service-builder.js';
import { type AssignedService } from '../service-addresses.js';
import { computeServiceEndpoints } from '../service-endpoints.js';
import { fitUdp, fromChase, isCut, judgeQuery, refuse, toChase, udpLimitOf } from './dns-answer.js';
import { computeDnsNames, findReversedIpv4, reverseNameOf } from './dns-names.js';

const D = 'default.svc.cluster.local';
const given = (clusterIp?: string): AssignedService => ({
  ...{ uid: 'uid', createdAtMs: 0, nodePorts: {} },
  ...(clusterIp === undefined ? {} : { clusterIp }),
});
const NAMES = computeDnsNames({
  domain: 'cluster.local',
  endpoints: computeServiceEndpoints(
    [
      aService('web', { ports: [{ name: 'http', port: 80 }] }),
      aService('db', { clusterIP: 'None', ports: [{ name: 'redis', port: 6379 }] }),
      aService('ext', { type: 'ExternalName', externalName: 'Example.org.' }),
      aService('near', { type: 'ExternalName', externalName: `web.${D}` }),
      aService('loop', { type: 'ExternalName', externalName: `loop.${D}` }),
      aService('none', { clusterIP: 'None' }),
    ],
    [
      anEndpointPod('web', '10.88.0.2', { name: 'web-1' }),
      anEndpointPod('db', '10.88.0.3', { name: 'db-0', spec: { hostname: 'db-0', subdomain: 'db' } }),
      anEndpointPod('db', '10.88.0.4', { name: 'db-1', spec: { hostname: 'db-1', subdomain: 'db' } }),
      anEndpointPod('db', '10.88.0.5', { name: 'db-2', isReady: false }),
    ],
  ),
  assigned: { 'default/web': given('10.192.16.20'), 'default/db': given(), 'default/none': given() },
  isOwnAddress: (ip) => ip.startsWith('10.192.16.'),
});

const question = (name: string, type = 'A', more: Partial<Packet> = {}): Buffer =>
  encode({ type: 'query', id: 7, flags: 0x100, questions: [{ name, type: type as 'A' }], ...more });

interface Told {
  readonly rcode: string;
  readonly answers: string[];
}

function ask(name: string, type = 'A'): Told | string {
  const verdict = judgeQuery(question(name, type), NAMES);
  if (verdict.kind !== 'answer') return verdict.kind;
  const packet = decode(verdict.packet) as unknown as Packet & { rcode: string };
  const textOf = (answer: Answer): string =>
    'data' in answer ? `${answer.name} ${answer.type} ${JSON.stringify(answer.data)}` : '';
  return { rcode: packet.rcode, answers: (packet.answers ?? []).map(textOf).sort() };
}
const NOTHING = { rcode: 'NOERROR', answers: [] };
const NO_NAME = { rcode: 'NXDOMAIN', answers: [] };

describe('the names of Services', () => {
  it('lead to their addresses, whatever the case of letters', () => {
    expect(ask(`web.${D}`)).toEqual({ rcode: 'NOERROR', answers: [`web.${D} A "10.192.16.20"`] });
    expect(ask('WeB.Default.svc.Cluster.LOCAL')).toMatchObject({ rcode: 'NOERROR' });
  });

  it('have no record of a type that there is not, and are unknown otherwise', () => {
    expect(ask(`web.${D}`, 'AAAA')).toEqual(NOTHING);
    expect(ask(`web.${D}`, 'TXT')).toEqual(NOTHING);
    expect(ask(D)).toEqual(NOTHING);
    expect(ask('cluster.local')).toEqual(NOTHING);
    expect(ask(`none.${D}`)).toEqual(NOTHING);
    expect(ask(`nope.${D}`)).toEqual(NO_NAME);
    expect(ask('web.other.svc.cluster.local')).toEqual(NO_NAME);
    expect(ask('example.org.cluster.local')).toEqual(NO_NAME);
  });

  it('lead to the ready pods of a headless one, which have names of their own', () => {
    expect(ask(`db.${D}`)).toEqual({
      rcode: 'NOERROR',
      answers: [`db.${D} A "10.88.0.3"`, `db.${D} A "10.88.0.4"`],
    });
    expect(ask(`db-1.db.${D}`)).toEqual({ rcode: 'NOERROR', answers: [`db-1.db.${D} A "10.88.0.4"`] });
    expect(ask(`db-2.db.${D}`)).toEqual(NO_NAME);
    expect(ask('10-88-0-2.default.pod.cluster.local')).toMatchObject({ rcode: 'NOERROR' });
  });

  it('have a port by its name', () => {
    expect(ask(`_http._tcp.web.${D}`, 'SRV')).toMatchObject({
      answers: [expect.stringContaining('"port":80')],
    });
    const { answers } = ask(`_redis._tcp.db.${D}`, 'SRV') as Told;
    expect(answers.map((each) => /"target":"([^"]+)"/.exec(each)?.[1])).toEqual([
      `db-0.db.${D}`,
      `db-1.db.${D}`,
    ]);
    expect(ask(`_http._udp.web.${D}`, 'SRV')).toEqual(NO_NAME);
  });

  it('are found by addresses, which nobody else is asked about', () => {
    expect(ask('20.16.192.10.in-addr.arpa', 'PTR')).toMatchObject({
      answers: [expect.stringContaining(`"web.${D}"`)],
    });
    expect(ask('3.0.88.10.in-addr.arpa', 'PTR')).toMatchObject({
      answers: [expect.stringContaining(`"db-0.db.${D}"`)],
    });
    expect(ask('99.16.192.10.in-addr.arpa', 'PTR')).toEqual(NO_NAME);
    expect(ask('9.9.9.9.in-addr.arpa', 'PTR')).toBe('forward');
    expect(ask('10.in-addr.arpa', 'PTR')).toBe('forward');
  });

  it('stand for other names, which are followed here or elsewhere', () => {
    expect(ask(`near.${D}`)).toEqual({
      rcode: 'NOERROR',
      answers: [`near.${D} CNAME "web.${D}"`, `web.${D} A "10.192.16.20"`],
    });
    expect(ask(`ext.${D}`)).toBe('chase');
    expect(ask(`ext.${D}`, 'CNAME')).toMatchObject({ answers: [expect.stringContaining('"example.org"')] });
    expect(ask(`loop.${D}`)).toMatchObject({ rcode: 'NOERROR' });
    const query = question(`ext.${D}`);
    const verdict = judgeQuery(query, NAMES) as Extract<ReturnType<typeof judgeQuery>, { kind: 'chase' }>;
    expect(decode(toChase(query, verdict)).questions).toMatchObject([{ name: 'example.org', type: 'A' }]);
    const found = encode({
      ...{ type: 'response', id: 1, questions: [{ name: 'example.org', type: 'A' }] },
      answers: [{ name: 'example.org', type: 'A', data: '192.0.2.9', ttl: 60 }],
    });
    expect(decode(fromChase(query, verdict, found))).toMatchObject({
      ...{ id: 7, questions: [{ name: `ext.${D}` }] },
      answers: [
        { type: 'CNAME', data: 'example.org' },
        { type: 'A', data: '192.0.2.9' },
      ],
    });
  });

  it('are all that is answered here', () => {
    expect(ask('example.org')).toBe('forward');
    expect(ask('notcluster.local')).toBe('forward');
  });
});

describe('packets that are no plain questions', () => {
  const rcodeOf = (packet: Buffer): unknown => {
    const verdict = judgeQuery(packet, NAMES);
    return verdict.kind === 'answer'
      ? (decode(verdict.packet) as unknown as Packet & { rcode: string }).rcode
      : verdict.kind;
  };

  it('are refused, or not answered where an answer could be answered again', () => {
    expect(rcodeOf(Buffer.alloc(5))).toBe('drop');
    expect(rcodeOf(encode({ type: 'response', id: 1, questions: [{ name: `web.${D}`, type: 'A' }] }))).toBe(
      'drop',
    );
    expect(rcodeOf(question(`web.${D}`, 'ANY'))).toBe('NOTIMP');
    expect(rcodeOf(question(`web.${D}`, 'A', { flags: 4 << 11 }))).toBe('NOTIMP');
    expect(rcodeOf(encode({ type: 'query', id: 1, questions: [] }))).toBe('FORMERR');
    const two = [`web.${D}`, `db.${D}`].map((name) => ({ name, type: 'A' as const }));
    expect(rcodeOf(encode({ type: 'query', id: 1, questions: two }))).toBe('FORMERR');
    const chaos = { name: `web.${D}`, type: 'A' as const, class: 'CH' as const };
    expect(rcodeOf(encode({ type: 'query', id: 1, questions: [chaos] }))).toBe('REFUSED');
  });

  it('never end the server, and no answer is larger than was asked for', () => {
    const valid = [question(`web.${D}`), question(`_redis._tcp.db.${D}`, 'SRV'), question('a'.repeat(60))];
    const mutated = fc
      .tuple(
        fc.constantFrom(...valid),
        fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 8 }),
        fc.nat(90),
      )
      .map(([packet, edits, length]) => {
        const copy = Buffer.from(packet);
        for (const [at, value] of edits) if (at < copy.length) copy[at] = value;
        return copy.subarray(0, length);
      });
    const noise = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, noise), (packet) => {
        const verdict = judgeQuery(packet, NAMES);
        if (verdict.kind !== 'answer') return;
        expect(verdict.packet.readUInt16BE(0)).toBe(packet.readUInt16BE(0));
        expect(verdict.packet[2]! & 0x80).toBe(0x80);
        expect(fitUdp(verdict.packet, packet).length).toBeLessThanOrEqual(udpLimitOf(packet));
        decode(verdict.packet);
      }),
      { seed: 20_261_129, numRuns: 3_000 },
    );
  });

  it('get an answer that says why, with the question', () => {
    const packet = refuse(question('example.org'), 'SERVFAIL');
    expect(decode(packet)).toMatchObject({ id: 7, rcode: 'SERVFAIL', questions: [{ name: 'example.org' }] });
  });
});

describe('answers over UDP', () => {
  it('are cut to what the asker takes, with the sign to ask over TCP', () => {
    const answers = Array.from({ length: 60 }, (_, at) => ({
      name: `db.${D}`,
      type: 'A' as const,
      data: `10.88.1.${at}`,
      ttl: 5,
    }));
    const query = question(`db.${D}`);
    const long = encode({ type: 'response', id: 7, questions: [{ name: `db.${D}`, type: 'A' }], answers });
    const cut = fitUdp(long, query);
    expect([cut.length <= 512, isCut(cut), decode(cut).answers]).toEqual([true, true, []]);
    const opt = { type: 'OPT', name: '.', udpPayloadSize: 4_096, flags: 0, options: [] } as never;
    expect(udpLimitOf(question(`db.${D}`, 'A', { additionals: [opt] }))).toBe(1_232);
  });
});

it('reverses addresses', () => {
  expect(reverseNameOf('10.88.0.2')).toBe('2.0.88.10.in-addr.arpa');
  expect(reverseNameOf('fd00::1:2')).toBe(`2.0.0.0.1.0.0.0${'.0'.repeat(20)}.0.0.d.f.ip6.arpa`);
  expect(findReversedIpv4('2.0.88.10.in-addr.arpa')).toBe('10.88.0.2');
  expect(findReversedIpv4('2.0.888.10.in-addr.arpa')).toBeUndefined();
});
