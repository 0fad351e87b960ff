/**
 * The answer to one question for a name: from what is known here, or by somebody else.
 *
 * In: a packet as it came, from anybody. Out: a packet to send, or what else is to be done. Pure; never throws.
 *
 * @module
 */
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet';
import { type DnsNames, type DnsRecord, findReversedIpv4, isWithin } from './dns-names.js';

/** What is to be done about a packet. */
export type DnsVerdict =
  /** Nothing: it is no question, and answers to such packets could go round in circles. */
  | { readonly kind: 'drop' }
  | { readonly kind: 'answer'; readonly packet: Buffer }
  /** The node's name servers know the answer. */
  | { readonly kind: 'forward' }
  /** The name is another one, and the node's name servers know that: their answer follows these records. */
  | {
      readonly kind: 'chase';
      readonly question: Question;
      readonly aliases: readonly Answer[];
      readonly target: string;
    };

/** The largest packet that a client takes, where it does not say so. */
const PLAIN_UDP_BYTES = 512;
/** Larger ones could be cut into pieces on their way. */
const MAX_UDP_BYTES = 1_232;
const HEADER_BYTES = 12;
/** Endpoints come and go within seconds. */
const TTL_SECONDS = 5;
/** Of CNAMEs that lead to CNAMEs. */
const MAX_ALIASES = 8;
const RECURSION_DESIRED_FLAG = 1 << 8;

const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
/** Why nothing is found. */
export type DnsFailure = Exclude<keyof typeof RCODES, 'NOERROR'>;

/** Judges one packet. */
export function judgeQuery(packet: Buffer, names: DnsNames): DnsVerdict {
  if (packet.length < HEADER_BYTES || (packet[2]! & 0x80) !== 0) return { kind: 'drop' };
  const query = tryDecode(packet);
  if (query === undefined) return { kind: 'answer', packet: refuse(packet, 'FORMERR') };
  const [question, ...others] = query.questions ?? [];
  if (((packet[2]! >> 3) & 0x0f) !== 0) return { kind: 'answer', packet: refuse(packet, 'NOTIMP') };
  if (question === undefined || others.length > 0)
    return { kind: 'answer', packet: refuse(packet, 'FORMERR') };
  const name = question.name.toLowerCase();
  const isOurs = isWithin(name, names.domain);
  // A label may have a dot in it, or bytes that are no text: no name here has.
  if (isOurs && !/^[\w.-]+$/.test(name)) return { kind: 'answer', packet: refuse(packet, 'NXDOMAIN') };
  if (isOurs && name.split('.').length !== countLabels(packet)) {
    return { kind: 'answer', packet: refuse(packet, 'NXDOMAIN') };
  }
  if (
    (question.type as string) === 'ANY' ||
    (question.type as string) === 'AXFR' ||
    (question.type as string) === 'IXFR'
  ) {
    return { kind: 'answer', packet: refuse(packet, 'NOTIMP') };
  }
  if (!isOurs) {
    const reversed = findReversedIpv4(name);
    const isKnown = (names.records.get(name) ?? []).length > 0;
    if (!isKnown && (reversed === undefined || !names.isOwnAddress(reversed))) return { kind: 'forward' };
  }
  if (question.class !== undefined && (question.class as string) !== 'IN') {
    return { kind: 'answer', packet: refuse(packet, 'REFUSED') };
  }
  return answerLocally(query, question, name, names);
}

/** An answer that only says why there is none, to any packet with a header. */
export function refuse(packet: Buffer, failure: DnsFailure): Buffer {
  const question = endOfQuestion(packet);
  const answer = Buffer.from(packet.subarray(0, question ?? HEADER_BYTES));
  answer[2] = 0x80 | (answer[2]! & 0x79);
  answer[3] = 0x80 | RCODES[failure];
  answer.fill(0, 4, HEADER_BYTES);
  if (question !== undefined) answer[5] = 1;
  return answer;
}

/** How many bytes of an answer the asker of a packet takes over UDP. */
export function udpLimitOf(packet: Buffer): number {
  const edns = tryDecode(packet)?.additionals?.find(({ type }) => type === 'OPT');
  const size = edns !== undefined && 'udpPayloadSize' in edns ? edns.udpPayloadSize : 0;
  return Math.min(MAX_UDP_BYTES, Math.max(PLAIN_UDP_BYTES, size));
}

/** Whether an answer is cut, so that the question has to be asked over TCP. */
export function isCut(answer: Buffer): boolean {
  return (answer[2]! & (TRUNCATED_RESPONSE >> 8)) !== 0;
}

/** An answer cut to what the asker takes: without records, and with the sign to ask over TCP. */
export function fitUdp(answer: Buffer, query: Buffer): Buffer {
  if (answer.length <= udpLimitOf(query)) return answer;
  const cut = Buffer.from(answer.subarray(0, endOfQuestion(answer) ?? HEADER_BYTES));
  cut[2] = cut[2]! | (TRUNCATED_RESPONSE >> 8);
  cut.fill(0, 6, HEADER_BYTES);
  return cut;
}

/** The question for the name that an alias stands for. */
export function toChase(query: Buffer, { question, target }: Extract<DnsVerdict, { kind: 'chase' }>): Buffer {
  return encode({
    ...{ type: 'query', id: query.readUInt16BE(0), flags: RECURSION_DESIRED_FLAG },
    questions: [{ ...question, name: target }],
  });
}

/** The answer about an alias: its own record, and what was found about its target. */
export function fromChase(
  query: Buffer,
  { question, aliases }: Extract<DnsVerdict, { kind: 'chase' }>,
  found: Buffer,
): Buffer {
  const answers = tryDecode(found)?.answers ?? [];
  const code = found[3]! & 0x0f;
  const flags = RECURSION_AVAILABLE | (query[2]! & 1 ? RECURSION_DESIRED_FLAG : 0) | code;
  try {
    return encode({
      ...{ type: 'response', id: query.readUInt16BE(0), flags, questions: [question] },
      answers: [...aliases, ...answers],
    });
  } catch {
    return refuse(query, 'SERVFAIL');
  }
}

function answerLocally(
  query: Packet,
  question: Question,
  asked: string,
  names: DnsNames,
): Extract<DnsVerdict, { kind: 'answer' | 'chase' }> {
  const answers: Answer[] = [];
  let name = asked;
  for (let step = 0; step < MAX_ALIASES; step++) {
    const records = names.records.get(name);
    const alias = records?.find((record) => record.type === 'CNAME');
    if (alias === undefined || question.type === 'CNAME') break;
    const target = alias.data as string;
    answers.push(toAnswer(step === 0 ? question.name : name, alias));
    if (!isWithin(target, names.domain)) return { kind: 'chase', question, aliases: answers, target };
    name = target;
  }
  const records = names.records.get(name);
  const found = (records ?? []).filter(({ type }) => type === question.type);
  answers.push(...found.map((record) => toAnswer(answers.length === 0 ? question.name : name, record)));
  const additionals = found.flatMap((record): Answer[] => {
    if (record.type !== 'SRV') return [];
    const { target } = record.data;
    const addresses = (names.records.get(target) ?? []).filter(({ type }) => type === 'A' || type === 'AAAA');
    return addresses.map((address) => toAnswer(target, address));
  });
  const edns = query.additionals?.find(({ type }) => type === 'OPT');
  const code = records === undefined ? RCODES.NXDOMAIN : RCODES.NOERROR;
  const desired = (query.flags ?? 0) & RECURSION_DESIRED_FLAG;
  const response: Packet = {
    ...{ type: 'response', id: query.id, flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | desired | code },
    ...{ questions: [question], answers: rotated(answers, query.id ?? 0) },
    authorities: answers.length > 0 ? [] : [startOf(names.domain)],
    additionals: [
      ...additionals,
      ...(edns === undefined
        ? []
        : [
            {
              type: 'OPT' as const,
              name: '.',
              udpPayloadSize: MAX_UDP_BYTES,
              flags: 0,
              options: [],
            } as never,
          ]),
    ],
  };
  try {
    return { kind: 'answer', packet: encode(response) };
  } catch {
    return { kind: 'answer', packet: header(query.id ?? 0, 'SERVFAIL') };
  }
}

/** Clients take the first address: each answer has another one in front. Aliases stay before what they stand for. */
function rotated(answers: readonly Answer[], id: number): Answer[] {
  const aliases = answers.filter(({ type }) => type === 'CNAME');
  const rest = answers.filter(({ type }) => type !== 'CNAME');
  const start = rest.length === 0 ? 0 : id % rest.length;
  return [...aliases, ...rest.slice(start), ...rest.slice(0, start)];
}

function toAnswer(name: string, record: DnsRecord): Answer {
  if (record.type === 'SRV') {
    return { type: 'SRV', name, ttl: TTL_SECONDS, data: { ...record.data, priority: 0, weight: 100 } };
  }
  return { type: record.type, name, ttl: TTL_SECONDS, data: record.data };
}

/** How long somebody may remember that there is nothing. */
function startOf(domain: string): Answer {
  return {
    ...{ type: 'SOA', name: domain, ttl: TTL_SECONDS },
    data: {
      ...{ mname: `ns.dns.${domain}`, rname: `hostmaster.${domain}`, serial: 1 },
      ...{ refresh: 7_200, retry: 1_800, expire: 86_400, minimum: TTL_SECONDS },
    },
  };
}

function header(id: number, failure: DnsFailure): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES);
  packet.writeUInt16BE(id, 0);
  packet[2] = 0x80;
  packet[3] = 0x80 | RCODES[failure];
  return packet;
}

function tryDecode(packet: Buffer): Packet | undefined {
  try {
    return decode(packet);
  } catch {
    return undefined;
  }
}

/** The labels in the name of the first question. */
function countLabels(packet: Buffer): number {
  let count = 0;
  for (let at = HEADER_BYTES; (packet[at] ?? 0) !== 0; at += packet[at]! + 1) count++;
  return count;
}

/** Where the first question ends; undefined when there is none, or it does not end in the packet. */
export function endOfQuestion(packet: Buffer): number | undefined {
  if (packet.length < HEADER_BYTES || packet.readUInt16BE(4) === 0) return undefined;
  let at = HEADER_BYTES;
  while (at < packet.length) {
    const length = packet[at]!;
    // A question has nothing before it that it could point to.
    if (length > 63) return undefined;
    at += length + 1;
    if (length === 0) return at + 4 <= packet.length ? at + 4 : undefined;
  }
  return undefined;
}
