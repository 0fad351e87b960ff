import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinuxContainerSecurityContext } from '../../watch/cri/generated/runtime/v1/cri.js';
import { RootUsers } from '../images/read-users.js';
import { resolveContainerUser } from './container-user.js';

const USERS = new RootUsers(
  [
    { name: 'root', uid: 0, gid: 0, home: '/root' },
    { name: 'web', uid: 101, gid: 102, home: '/var/web' },
    { name: '77', uid: 0, gid: 0, home: '/seven' },
    { name: '0', uid: 5, gid: 5, home: '/five' },
    { name: '0012', uid: 0, gid: 0, home: '/twelve' },
  ],
  [
    { name: '1000', gid: 0, members: ['web'] },
    { name: 'web', gid: 102, members: [] },
    { name: 'staff', gid: 50, members: ['web', 'other'] },
    { name: 'log', gid: 60, members: ['web'] },
  ],
);
type Context = Parameters<typeof LinuxContainerSecurityContext.fromPartial>[0];

function resolve(context: Context, imageUser = '') {
  return resolveContainerUser(LinuxContainerSecurityContext.fromPartial(context), imageUser, USERS);
}

describe('resolveContainerUser', () => {
  it('says why a file names nobody', () => {
    const users = new RootUsers([], [], { passwd: 'which is no regular file', group: 'which is too large' });
    expect(() => resolveContainerUser(undefined, 'web', users)).toThrow(
      'user "web" is not in the image\'s etc/passwd, which is no regular file',
    );
    expect(() => resolveContainerUser(undefined, '0:web', users)).toThrow('etc/group, which is too large');
    expect(resolveContainerUser(undefined, '7', users).uid).toBe(7);
  });

  it('is root unless anybody says something else', () => {
    expect(resolveContainerUser(undefined, '', USERS)).toEqual({
      uid: 0,
      gid: 0,
      groups: [0],
      home: '/root',
    });
  });

  it.each([
    ['web', { uid: 101, gid: 102, groups: [102, 0, 50, 60], home: '/var/web' }],
    ['web:staff', { uid: 101, gid: 50, groups: [50, 0, 60], home: '/var/web' }],
    ['web:1234', { uid: 101, gid: 1234, groups: [1234, 0, 50, 60], home: '/var/web' }],
    ['101', { uid: 101, gid: 102, groups: [102, 0, 50, 60], home: '/var/web' }],
    ['5000', { uid: 5000, gid: 0, groups: [0], home: '/' }],
    [':60', { uid: 0, gid: 60, groups: [60], home: '/root' }],
  ])('takes the image’s user %s', (imageUser, user) => {
    expect(resolve({}, imageUser)).toEqual(user);
  });

  it.each([
    ['77', { uid: 77, gid: 0 }],
    ['77:1000', { uid: 77, gid: 1000 }],
    ['web:1000', { uid: 101, gid: 1000 }],
    ['0', { uid: 0, gid: 0 }],
    ['0012', { uid: 12, gid: 0 }],
  ])('takes the digits of %s as ids, whoever is named so in the image', (text, user) => {
    expect(resolve({}, text)).toMatchObject(user);
    if (!text.includes(':')) expect(resolve({ runAsUsername: text }, 'web')).toMatchObject(user);
  });

  it('has its primary group among all groups, however it came by it', () => {
    const id = fc.integer({ min: 0, max: 5000 });
    fc.assert(
      fc.property(
        id,
        fc.option(id),
        fc.array(id, { maxLength: 4 }),
        fc.boolean(),
        (uid, gid, more, strict) => {
          const user = resolve({
            runAsUser: { value: BigInt(uid) },
            ...(gid !== null && { runAsGroup: { value: BigInt(gid) } }),
            supplementalGroups: more.map(BigInt),
            supplementalGroupsPolicy: strict ? 1 : 0,
          });
          expect(user.groups[0]).toBe(user.gid);
          expect(new Set(user.groups).size).toBe(user.groups.length);
        },
      ),
    );
  });

  it('takes what the request says before what the image says', () => {
    expect(resolve({ runAsUser: { value: 0n } }, 'web').uid).toBe(0);
    expect(resolve({ runAsUsername: 'web' }, '5000').uid).toBe(101);
    expect(resolve({ runAsUser: { value: 101n }, runAsGroup: { value: 7n } })).toMatchObject({
      uid: 101,
      gid: 7,
    });
  });

  it('adds the groups of the request, and those of the image unless the policy is strict', () => {
    const context = { runAsUser: { value: 101n }, supplementalGroups: [60n, 70n] };
    expect(resolve(context).groups).toEqual([102, 0, 50, 60, 70]);
    expect(resolve({ ...context, supplementalGroupsPolicy: 1 }).groups).toEqual([102, 60, 70]);
  });

  it('refuses ids that cannot be, names that nobody has, and a group alone', () => {
    expect(() => resolve({ runAsUser: { value: -1n } })).toThrow('run_as_user cannot be -1');
    expect(() => resolve({ runAsUser: { value: 2n ** 32n } })).toThrow('run_as_user');
    expect(() => resolve({ supplementalGroups: [-5n] })).toThrow('supplemental_groups cannot be -5');
    expect(() => resolve({ runAsUsername: 'stranger' })).toThrow('stranger');
    expect(() => resolve({}, 'web:strangers')).toThrow('strangers');
    expect(() => resolve({ runAsGroup: { value: 5n } })).toThrow('without run_as_user');
  });
});
