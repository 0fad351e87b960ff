import { open } from 'node:fs/promises';

const PT_INTERP = 3;
const HEAD_BYTES = 64;

/** The loader that a program names (PT_INTERP, see elf(5)); undefined for a static one and for what is no ELF file. */
export async function readElfInterpreter(path: string): Promise<string | undefined> {
  await using file = await open(path, 'r');
  const read = async (position: number, length: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  };
  const head = await read(0, HEAD_BYTES);
  if (head.length < HEAD_BYTES || head.toString('latin1', 0, 4) !== '\x7fELF') return undefined;
  const wide = head[4] === 2;
  const little = head[5] === 1;
  const u16 = (from: Buffer, at: number) => (little ? from.readUInt16LE(at) : from.readUInt16BE(at));
  const u32 = (from: Buffer, at: number) => (little ? from.readUInt32LE(at) : from.readUInt32BE(at));
  const word = (from: Buffer, at: number) => {
    if (!wide) return u32(from, at);
    return Number(little ? from.readBigUInt64LE(at) : from.readBigUInt64BE(at));
  };
  const tableAt = word(head, wide ? 0x20 : 0x1c);
  const entryBytes = u16(head, wide ? 0x36 : 0x2a);
  const entries = u16(head, wide ? 0x38 : 0x2c);
  const table = await read(tableAt, entryBytes * entries);
  for (let at = 0; at + entryBytes <= table.length; at += entryBytes) {
    if (u32(table, at) !== PT_INTERP) continue;
    const text = await read(word(table, at + (wide ? 0x08 : 0x04)), word(table, at + (wide ? 0x20 : 0x10)));
    return text.toString('latin1').replace(/\0.*$/, '');
  }
  return undefined;
}
