import { expect, it } from 'vitest';
import { withDefaultTag } from './image-name.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;

it.each([
  ['nginx', 'nginx:latest'],
  ['nginx:1.27', 'nginx:1.27'],
  ['registry.example:5000/team/app', 'registry.example:5000/team/app:latest'],
  ['registry.example:5000/team/app:v1', 'registry.example:5000/team/app:v1'],
  ['localhost/app_x__y-z', 'localhost/app_x__y-z:latest'],
  ['[2001:db8::1]:5000/app', '[2001:db8::1]:5000/app:latest'],
  [`app@${DIGEST}`, `app@${DIGEST}`],
  [`app:1@${DIGEST}`, `app:1@${DIGEST}`],
])('takes %s for %s', (image, full) => {
  expect(withDefaultTag(image)).toBe(full);
});

it.each([
  '',
  'UPPER/Case',
  'a b',
  'app:',
  'app@sha256:12',
  'a//b',
  '-app',
  'app:tag:tag',
  'a'.repeat(300),
  'f'.repeat(64),
])('takes %s for no name', (image) => {
  expect(withDefaultTag(image)).toBeUndefined();
});
