import { expect, it } from 'vitest';
import { fullNameOf, isBareName, withDefaultTag } from './image-name.js';

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

it.each([
  ['busybox', 'docker.io/library/busybox:latest'],
  ['team/app:1', 'docker.io/team/app:1'],
  ['index.docker.io/library/busybox:1', 'docker.io/library/busybox:1'],
  ['r.example:5000/app:v1', 'r.example:5000/app:v1'],
  [`r.example/app:v1@${DIGEST}`, `r.example/app@${DIGEST}`],
  [`app@${DIGEST}`, `docker.io/library/app@${DIGEST}`],
  ['No Name', undefined],
])('calls %s %s, as runtimes do', (image, name) => {
  expect(fullNameOf(image)).toBe(name);
});

it.each([
  ['r.example/app', true],
  ['app', true],
  ['app:1', false],
  [`app@${DIGEST}`, false],
  ['r.example:5000', false],
  ['No Name', false],
])('finds nothing behind the name in %s: %s', (image, isBare) => {
  expect(isBareName(image)).toBe(isBare);
});
