import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type LabSandbox, type NetworkHarness } from './network-harness.js';

const execute = promisify(execFile);

/** Sends frames, in hex, from the interface of the first argument: what a container with NET_RAW can do. */
const SEND = `
my ($link, @frames) = @ARGV;
my ($index) = qx(ip -o link show dev $link) =~ /^(\\d+)/;
socket(my $socket, 17, 3, 0) or die "socket: $!";
for my $frame (@frames) {
  my $bytes = pack('H*', $frame);
  my $to = pack('S n l S C C a8', 17, unpack('n', substr($bytes, 12, 2)), $index, 1, 0, 6, substr($bytes, 0, 6));
  send($socket, $bytes, 0, $to) or die "send: $!";
}
`;

/** Why raw frames cannot be sent here; undefined when they can. */
export async function whyNoRawFrames(): Promise<string | undefined> {
  return execute('perl', ['-e', '1']).then(
    () => undefined,
    () => 'no perl, by which raw frames are sent',
  );
}

/** Sends frames from `eth0` of a sandbox. */
export async function sendFrames(
  lab: NetworkHarness,
  from: LabSandbox,
  frames: readonly Buffer[],
): Promise<void> {
  const words = frames.map((frame) => frame.toString('hex'));
  await lab.inside(from, 'perl', '-e', SEND, 'eth0', ...words);
}

const mac = (text: string): Buffer => Buffer.from(text.replaceAll(':', ''), 'hex');

/** An Ethernet frame. */
export function frame(to: string, from: string, type: number, payload: Buffer): Buffer {
  return Buffer.concat([mac(to), mac(from), uint16(type), payload]);
}

/** An IPv6 packet of ICMPv6 with a hop limit of 255, as neighbours send. */
export function icmpv6Packet(from: Buffer, to: Buffer, message: Buffer): Buffer {
  const head = Buffer.concat([Buffer.from([0x60, 0, 0, 0]), uint16(message.length), Buffer.from([58, 255])]);
  const pseudo = Buffer.concat([from, to, uint32(message.length), uint32(58), message]);
  message.writeUInt16BE(checksum(pseudo), 2);
  return Buffer.concat([head, from, to, message]);
}

/** A router advertisement that offers a default route, a prefix for addresses, a route and an MTU. */
export function routerAdvertisement(prefix: Buffer, routerMac: string): Buffer {
  const head = Buffer.from([134, 0, 0, 0, 64, 0, ...uint16(1800), ...uint32(0), ...uint32(0)]);
  const options = [
    Buffer.concat([Buffer.from([1, 1]), mac(routerMac)]),
    Buffer.concat([Buffer.from([5, 1, 0, 0]), uint32(1290)]),
    Buffer.concat([Buffer.from([3, 4, 64, 0xc0]), uint32(86_400), uint32(14_400), uint32(0), prefix]),
    Buffer.concat([Buffer.from([24, 3, 48, 0x08]), uint32(1800), prefix]),
  ];
  return Buffer.concat([head, ...options]);
}

/** An ICMP redirect: `router` seems to say that packets of `victim` to `destination` should go to `better`. */
export function redirect(parts: Record<'router' | 'victim' | 'destination' | 'better', string>): Buffer {
  const { router, victim, destination, better } = parts;
  const echo = Buffer.from([0, 0, 0xff, 0xff, 0, 0, 0, 0]);
  const original = ipv4Packet(victim, destination, echo);
  const message = Buffer.concat([Buffer.from([5, 1, 0, 0]), ipv4(better), original]);
  message.writeUInt16BE(checksum(message), 2);
  return ipv4Packet(router, victim, message);
}

function ipv4Packet(from: string, to: string, message: Buffer): Buffer {
  const head = Buffer.concat([
    Buffer.from([0x45, 0]),
    uint16(20 + message.length),
    Buffer.from([0, 1, 0, 0, 64, 1, 0, 0]),
    ipv4(from),
    ipv4(to),
  ]);
  head.writeUInt16BE(checksum(head), 10);
  return Buffer.concat([head, message]);
}

const ipv4 = (text: string): Buffer => Buffer.from(text.split('.').map(Number));

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at]! << 8) + (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
