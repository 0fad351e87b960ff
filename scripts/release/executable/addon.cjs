// In the single executable, in place of classic-level's binding.js: loads its addon, which is inside.
//
// The dynamic linker takes files alone. So the addon is written to one without a name, which is gone with the last process that has it
// open, even by SIGKILL; nobody else can change it, and versions beside one another share nothing. The linker is given its descriptor.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { getRawAsset } = require('node:sea');

/** Linux's O_TMPFILE, which Node has no name for. */
const NAMELESS = 0o20000000 | fs.constants.O_DIRECTORY;
/** What a file system without such files says (an old overlay, NFS, the sandboxes of some clouds). */
const WITHOUT = ['EOPNOTSUPP', 'EISDIR', 'ENOENT', 'EINVAL', 'ENOSYS'];

module.exports = load();

function load() {
  const failures = [];
  for (const folder of listFolders()) {
    try {
      return loadFrom(folder);
    } catch (error) {
      failures.push(`  ${folder}: ${error.message}`);
    }
  }
  const message = 'the database of the history needs a folder from which its native code can be loaded';
  throw new Error(
    `${message}: set TMPDIR to one that is writable and not mounted noexec\n${failures.join('\n')}`,
  );
}

function listFolders() {
  const { XDG_RUNTIME_DIR: ofUser = '/run' } = process.env;
  return new Set([
    os.tmpdir(),
    '/dev/shm',
    ofUser,
    '/run',
    '/var/lib',
    '/var/tmp',
    os.homedir(),
    process.cwd(),
  ]);
}

function loadFrom(folder) {
  const file = openNameless(folder);
  try {
    fs.writeFileSync(file, Buffer.from(getRawAsset('classic-level.node')));
    const loaded = { exports: {} };
    process.dlopen(loaded, `/proc/self/fd/${file}`);
    return loaded.exports;
  } finally {
    fs.closeSync(file);
  }
}

function openNameless(folder) {
  try {
    return fs.openSync(folder, NAMELESS | fs.constants.O_RDWR, 0o700);
  } catch (error) {
    if (!WITHOUT.includes(error.code)) throw error;
  }
  const own = fs.mkdtempSync(path.join(folder, '.podloop-'));
  try {
    return fs.openSync(path.join(own, 'addon'), 'wx+', 0o700);
  } finally {
    fs.rmSync(own, { recursive: true });
  }
}
