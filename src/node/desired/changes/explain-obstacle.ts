import { type Obstacle } from '../manifests/manifest-writer.js';

const HELD: Readonly<Record<Obstacle['holds'], string>> = {
  others: 'it is in FILE, which has other objects, too',
  errors: 'its file is FILE, which has errors in it and may hold anything',
  nothing: 'its file would be FILE, which is there and holds no object',
};

/**
 * Explains why an object cannot be changed or removed through the API, and where it can: `change it there`.
 * Pure.
 */
export function explainObstacle({ file, holds }: Obstacle, remedy: string): string {
  return `${HELD[holds].replace('FILE', () => file)}: ${remedy}`;
}
