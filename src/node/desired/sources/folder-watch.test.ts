import { describe, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { FolderWatch } from './folder-watch.js';
import { type FolderWatchEvents } from './watch-folder.js';

const PODS = { folder: '/pods', identity: '1', onlyName: undefined };

function lab(): {
  watch: FolderWatch;
  watches: { folder: string; events: FolderWatchEvents; closed: boolean }[];
  changes: () => number;
  warnings: string[];
} {
  const watches: { folder: string; events: FolderWatchEvents; closed: boolean }[] = [];
  const warnings: string[] = [];
  let changes = 0;
  const watch = new FolderWatch({
    watch: (folder, events) => {
      if (folder === '/refused') throw new Error('ENOSPC');
      const made = { folder, events, closed: false };
      watches.push(made);
      return { close: () => (made.closed = true) };
    },
    logger: { ...SILENT_LOGGER, warn: (message) => warnings.push(message) },
    onChange: () => changes++,
  });
  return { watch, watches, changes: () => changes, warnings };
}

describe('the watch of a folder', () => {
  it('stays with a folder, follows to another, and hints at once at what was missed in between', () => {
    const { watch, watches, changes } = lab();
    watch.follow(PODS);
    watch.follow(PODS);
    expect([watches.length, changes()]).toEqual([1, 1]);
    watch.follow({ ...PODS, identity: '2' });
    expect(watches.map(({ closed }) => closed)).toEqual([true, false]);
    expect(changes()).toBe(2);
    watch.close();
    expect(watches[1]!.closed).toBe(true);
  });

  it('hints at what may be a manifest, or lead to one, and not at a log', () => {
    const { watch, watches, changes } = lab();
    watch.follow(PODS);
    const { onChange } = watches[0]!.events;
    for (const name of ['a.yaml', '..data', undefined]) onChange(name);
    expect(changes()).toBe(4);
    for (const name of ['agent.log', '.a.yaml.swp', 'a.yaml~']) onChange(name);
    expect(changes()).toBe(4);
  });

  it('signals the end of the folder itself, which is reported under its own name, and follows one of the same number', () => {
    const { watch, watches, changes } = lab();
    watch.follow(PODS);
    watches[0]!.events.onChange('pods');
    expect([watches[0]!.closed, changes()]).toEqual([true, 2]);
    watch.follow(PODS);
    expect(watches).toHaveLength(2);
  });

  it('returns each new name twice, unless it was written to after that', () => {
    const { watch, watches } = lab();
    watch.follow(PODS);
    const { onChange } = watches[0]!.events;
    onChange('moved.yaml', 'named');
    onChange('made.yaml', 'named');
    onChange('made.yaml', 'written');
    onChange('edited.yaml', 'written');
    onChange('unknown.yaml');
    onChange('moved.log', 'named');
    expect([...watch.takeArrivals()]).toEqual(['moved.yaml']);
    onChange('made.yaml', 'named');
    expect([...watch.takeArrivals()].sort()).toEqual(['made.yaml', 'moved.yaml']);
    onChange('made.yaml', 'written');
    expect([...watch.takeArrivals()]).toEqual([]);
  });

  it('hints at one name, where only that counts', () => {
    const { watch, watches, changes } = lab();
    watch.follow({ ...PODS, onlyName: 'web' });
    for (const name of ['other.yaml', 'web', '..data']) watches[0]!.events.onChange(name);
    expect(changes()).toBe(3);
  });

  it('says once that it cannot watch, and tries again with the next look', () => {
    const { watch, watches, warnings } = lab();
    watch.follow({ ...PODS, folder: '/refused' });
    watch.follow({ ...PODS, folder: '/refused' });
    expect(warnings).toHaveLength(1);
    watch.follow(PODS);
    watches[0]!.events.onFailure(new Error('EMFILE'));
    expect([watches[0]!.closed, warnings.length]).toEqual([true, 2]);
    watch.follow(PODS);
    expect(watches).toHaveLength(2);
  });
});
