import { describe, expect, it } from 'vitest';
import { parseFailedFileSystems } from './failed-file-systems.js';

const line = (device: string, path: string, own: string, type: string, ofFileSystem: string): string =>
  `36 35 ${device} / ${path} ${own},relatime shared:1 - ${type} /dev/sdb1 ${ofFileSystem},errors=remount-ro\n`;
const pathsOf = (text: string): string[] => parseFailedFileSystems(text).map(({ mountPoint }) => mountPoint);

describe('file systems that the kernel has closed', () => {
  it.each(['ext4', 'xfs', 'btrfs'])('are read-only although no mount is: %s', (type) => {
    expect(pathsOf(line('8:17', '/data', 'rw', type, 'ro'))).toEqual(['/data']);
  });

  it.each(['emergency_ro', 'shutdown'])('are those that say so: %s', (word) => {
    expect(pathsOf(line('8:17', '/data', 'rw', 'ext4', `rw,${word}`))).toEqual(['/data']);
    // Whoever mounted it read-only since did not undo that.
    expect(pathsOf(line('8:17', '/data', 'ro', 'ext4', `ro,${word}`))).toEqual(['/data']);
  });

  it('come once each, by their first mount', () => {
    const text = line('8:17', '/a\\040b', 'rw', 'ext4', 'ro') + line('8:17', '/pods/1/b', 'rw', 'ext4', 'ro');
    expect(pathsOf(text)).toEqual(['/a b']);
  });

  it('are not those that somebody made read-only, or that are always', () => {
    expect(pathsOf(line('8:17', '/data', 'rw', 'ext4', 'rw'))).toEqual([]);
    expect(pathsOf(line('8:17', '/data', 'ro', 'ext4', 'ro'))).toEqual([]);
    // That of a system that is never written to, of which a part is mounted elsewhere without the option.
    const system = line('8:1', '/', 'ro', 'ext4', 'ro') + line('8:1', '/pods/1/etc', 'rw', 'ext4', 'ro');
    expect(pathsOf(system)).toEqual([]);
    for (const type of ['squashfs', 'iso9660', 'erofs', 'tmpfs', 'overlay'])
      expect(pathsOf(line('7:1', '/snap', 'rw', type, 'ro'))).toEqual([]);
    expect(pathsOf('')).toEqual([]);
  });
});
