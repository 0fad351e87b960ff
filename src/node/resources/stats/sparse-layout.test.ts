import { expect, it } from 'vitest';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { sparseLayout } from './sparse-layout.js';

function counting(files: (path: string) => string | undefined): { layout: CgroupLayout; reads: string[] } {
  const reads: string[] = [];
  const read = (path: string): string | undefined => {
    reads.push(path);
    return files(path);
  };
  const hierarchy = { version: 2, mountpoint: '/cg', controllers: ['memory'] } as const;
  return { layout: sparseLayout(new CgroupLayout({ read } as unknown as CgroupIo, [hierarchy])), reads };
}

it('does not look in every group for a file that the first have not', () => {
  const { layout, reads } = counting(() => undefined);
  for (let at = 0; at < 100; at++) expect(layout.read('memory', `/${at}`, 'memory.peak')).toBeUndefined();
  expect(reads).toHaveLength(8);
});

it('goes on looking for what any of them has, and for what some may have and others not', () => {
  const { layout, reads } = counting((path) => (path === '/cg/3/memory.peak' ? '7' : undefined));
  for (let at = 0; at < 100; at++) {
    expect(layout.read('memory', `/${at}`, 'memory.peak')).toBe(at === 3 ? '7' : undefined);
    layout.read('memory', `/${at}`, 'memory.current');
  }
  expect(reads).toHaveLength(200);
});
