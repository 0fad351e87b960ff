import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { RecordFile } from '#base/fs/record-file.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';
import { formatIpv4Range, parseIpv4Range } from '#base/wire/ipv4-range.js';

/** What is written down before the bridge is made. */
export interface BridgeRecord {
  /** The range as text. */
  readonly range: string;
  readonly mtu: number;
  /** The host did not forward packets before we made it do so. */
  readonly forwardingWasOff: boolean;
}

/** What makes this root folder's runtime another one than all others; made up at its first start. */
export async function readInstance(dir: string): Promise<string> {
  const path = join(dir, 'instance');
  const known = await readIfThere(path);
  if (known !== undefined && known !== '') return known;
  const instance = randomBytes(16).toString('hex');
  await writeWhole(path, instance);
  return instance;
}

/** What an earlier runtime has written down; undefined when there is nothing, or nothing that can be read. */
export async function readBridgeRecord(dir: string, logger: Logger): Promise<BridgeRecord | undefined> {
  const file = fileOf(dir);
  try {
    return await file.read();
  } catch (error) {
    logger.error('Record of the bridge not readable, left alone', error, { path: file.path });
    return undefined;
  }
}

export async function writeBridgeRecord(dir: string, record: BridgeRecord): Promise<void> {
  await fileOf(dir).write(record);
}

/** That there is none is fine. */
export async function deleteBridgeRecord(dir: string): Promise<void> {
  await fileOf(dir).remove();
}

/** Need not survive the loss of power, since no bridge does. */
function fileOf(dir: string): RecordFile<BridgeRecord> {
  return new RecordFile({ path: join(dir, 'bridge.json'), parse, durable: false });
}

function parse({ range: text, mtu, forwardingWasOff }: Readonly<Record<string, unknown>>): BridgeRecord {
  const range = parseIpv4Range(typeof text === 'string' ? text : '');
  if (range === undefined) throw new Error('it names no range');
  return {
    range: formatIpv4Range(range),
    mtu: typeof mtu === 'number' ? mtu : 1500,
    forwardingWasOff: forwardingWasOff === true,
  };
}
