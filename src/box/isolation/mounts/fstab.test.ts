import { describe, expect, it } from 'vitest';
import { renderFstab } from './fstab.js';

describe('renderFstab', () => {
  it('writes a line for each mount, with what separates fields escaped', () => {
    expect(
      renderFstab([
        { source: '/a b', target: '/c\td#', type: 'none', options: ['bind', 'ro'] },
        { source: 'x\\y', target: '/e\nf', type: 'tmpfs', options: [] },
      ]),
    ).toBe('/a\\040b /c\\011d\\043 none bind,ro 0 0\nx\\134y /e\\012f tmpfs defaults 0 0\n');
  });
});
