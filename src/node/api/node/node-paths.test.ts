import { expect, it } from 'vitest';
import { findNodePath, NODE_PATHS } from './node-paths.js';

it('are found by their first part, as it is written and no otherwise', () => {
  for (const name of Object.keys(NODE_PATHS)) {
    for (const path of [`/${name}`, `/${name}/`, `/${name}/x`, `/${name}?x=/y`, `/${name}/:namespace/*`]) {
      expect(findNodePath(path), path).toBe(NODE_PATHS[name]);
    }
    const others = [`/x/${name}`, `//${name}`, `/${name}x`, name, `/${name.toUpperCase()}`, `/%${name}`];
    for (const path of others) expect(findNodePath(path), path).toBeUndefined();
  }
  for (const path of ['', '/', '/api/v1/pods', 'other', '/constructor', '/toString/x', '/__proto__']) {
    expect(findNodePath(path), path).toBeUndefined();
  }
});
