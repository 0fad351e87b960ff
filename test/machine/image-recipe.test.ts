import { expect, it } from 'vitest';
import { computeImageKey, configureScript, PACKAGES } from './image-recipe.js';

it('an image is cached under a name that changes with its list of packages and not with their order', () => {
  const key = computeImageKey(PACKAGES);
  expect(computeImageKey([...PACKAGES].reverse())).toBe(key);
  const others = PACKAGES.map((_, index) => computeImageKey(PACKAGES.filter((__, other) => other !== index)));
  expect(new Set([key, ...others, computeImageKey([...PACKAGES, 'another'])]).size).toBe(PACKAGES.length + 2);
});

it('the script that makes a node of a root file system stops at the first error and has no key of anybody', () => {
  expect(configureScript()).toMatch(/^set -eu\n/);
  expect(configureScript()).not.toMatch(/authorized_keys|ssh-(?:ed25519|rsa)/);
});
