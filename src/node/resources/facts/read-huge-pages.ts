import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHugepageFolder } from '../../runtime/config/huge-pages.js';

const HUGE_PAGES = '/sys/kernel/mm/hugepages';

/** Bytes in huge pages by their size in bytes; 0 for a size without pages now. */
export async function readHugePages(): Promise<ReadonlyMap<bigint, bigint>> {
  const folders = await readdir(HUGE_PAGES).catch(() => []);
  const sizes = await Promise.all(
    folders.map(async (folder): Promise<readonly [bigint, bigint] | undefined> => {
      const size = parseHugepageFolder(folder);
      const count = (
        await readFile(join(HUGE_PAGES, folder, 'nr_hugepages'), 'latin1').catch(() => '')
      ).trim();
      return size === undefined || !/^\d+$/.test(count) ? undefined : [size, BigInt(count) * size];
    }),
  );
  return new Map(
    sizes
      .flatMap((each) => (each === undefined ? [] : [each]))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
