import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { logFileLooks } from './log-file-looks.js';

const mountAt = (mountPoint: string, fsType: string): MountEntry => ({
  ...{ mountPoint, fsType, shared: false, slave: false, restrictions: [] },
});
const MOUNTS = [mountAt('/', 'ext4'), mountAt('/nowhere/a', 'nfs4'), mountAt('/nowhere/b', 'nfs4')];

it('give one that never answers up with 503, and what may hang behind it, and nothing of the node itself', async () => {
  const clock = new FakeClock();
  let tables = 0;
  const looks = logFileLooks({ clock, readMounts: async () => (tables++, MOUNTS) });
  let answer = (_text: string): void => undefined;
  const late: string[] = [];
  let hung: Promise<string> | undefined;
  // Its place is found by reading links of the real disk: no other look may overtake it meanwhile.
  await new Promise<void>((atIt) => {
    const never = () => {
      atIt();
      return new Promise<string>((resolve) => (answer = resolve));
    };
    hung = looks.run('/nowhere/a/log', never, (text) => late.push(text));
  });
  let begun = 0;
  const look = async () => ++begun;
  const behind = looks.run('/nowhere/b/log', look);
  const refused = Promise.all([
    expect(hung).rejects.toMatchObject({ code: 503, message: '/nowhere/a/log does not answer' }),
    expect(behind).rejects.toMatchObject({ code: 503 }),
  ]);
  expect(await looks.run('/nowhere/else', look)).toBe(1);
  await clock.advance(10_000);
  await refused;
  expect(begun).toBe(1);
  answer('at last');
  await clock.advance(0);
  expect(late).toEqual(['at last']);
  expect(await looks.run('/nowhere/b/log', look)).toBe(2);
  expect(tables).toBe(2);
});
