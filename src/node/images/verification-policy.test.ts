import { describe, expect, it } from 'vitest';
import { repositoryOf } from '#kube/container/image-name.js';
import { findAllowlistProblem, isAllowlisted } from './verification-policy.js';

describe('an entry of the list of images that are not verified', () => {
  it.each([
    'registry.example/team/app',
    'registry.example:5000/app',
    'registry.example/team/*',
    'registry.example/*',
    'busybox',
  ])('may be %s', (entry) => {
    expect(findAllowlistProblem(entry)).toBeUndefined();
  });

  it.each([
    [' app', 'leading/trailing spaces are not allowed'],
    ['', 'the supplied pattern is too short'],
    ['/*', 'at least registry hostname is required'],
    ['registry.example/te*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed"],
    ['*/app', "not a valid wildcard pattern, only patterns ending with '/*' are allowed"],
    ['*.example/*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed"],
    ['registry.example/app:1', 'neither tag nor digest is accepted in an image reference'],
    [`app@sha256:${'0'.repeat(64)}`, 'neither tag nor digest is accepted in an image reference'],
    ['No Name', 'failed to parse as an image name: invalid reference format'],
  ])('may not be %j', (entry, problem) => {
    expect(findAllowlistProblem(entry)).toBe(problem);
  });

  it.each([
    ['registry.example/team/app:1', 'registry.example/team/app', true],
    ['registry.example/team/app2:1', 'registry.example/team/app', false],
    ['registry.example/team/app:1', 'registry.example/team/*', true],
    ['registry.example/team/sub/app:1', 'registry.example/team/*', true],
    ['registry.example/teams/app:1', 'registry.example/team/*', false],
    ['registry.example.org/app', 'registry.example/*', false],
    ['busybox:1', 'busybox', true],
    ['busybox:1', 'docker.io/library/busybox', true],
    ['docker.io/library/busybox', 'busybox', true],
    ['busybox', 'docker.io/*', true],
  ])('for %s and %s: %s', (image, entry, isMatch) => {
    expect(isAllowlisted(repositoryOf(image)!, ['other.example/*', entry])).toBe(isMatch);
  });
});
