// A server of an empty FUSE file system: node fuse-server.mjs FOLDER. Prints `mounted`, and serves until it is ended.
// It answers the few calls that a look into the folder takes; see linux/fuse.h.
import { spawnSync } from 'node:child_process';
import { openSync, read, writeSync } from 'node:fs';

const folder = process.argv[2];
const fd = openSync('/dev/fuse', 'r+');
const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
const mount = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'podloop-fuse', folder], {
  stdio: ['ignore', 'inherit', 'inherit', fd],
});
if (mount.status !== 0) process.exit(1);
console.log('mounted');

const [FORGET, GETATTR, STATFS, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, BATCH_FORGET] = [
  2, 3, 17, 26, 27, 28, 29, 34, 42,
];
const [MKNOD, MKDIR, CREATE] = [8, 9, 35];
const ENOENT = 2;
const EROFS = 30;
const ENOSYS = 38;
const LOOKUP = 1;

function answer(request) {
  switch (request.readUInt32LE(4)) {
    case INIT: {
      const body = Buffer.alloc(64);
      body.writeUInt32LE(7, 0);
      body.writeUInt32LE(31, 4);
      body.writeUInt32LE(65_536, 20);
      return body;
    }
    case GETATTR: {
      // Valid for no time at all, so that each look asks again.
      const body = Buffer.alloc(104);
      body.writeBigUInt64LE(1n, 16);
      body.writeUInt32LE(0o40755, 16 + 60);
      body.writeUInt32LE(2, 16 + 64);
      return body;
    }
    case STATFS: {
      const body = Buffer.alloc(80);
      body.writeUInt32LE(4_096, 40);
      body.writeUInt32LE(255, 44);
      return body;
    }
    case OPENDIR:
      return Buffer.alloc(16);
    case READDIR:
    case RELEASEDIR:
    case ACCESS:
      return Buffer.alloc(0);
    case LOOKUP:
      return ENOENT;
    case MKNOD:
    case MKDIR:
    case CREATE:
      return EROFS;
    case FORGET:
    case BATCH_FORGET:
      return undefined;
    default:
      return ENOSYS;
  }
}

const buffer = Buffer.alloc(1 << 17);
function next() {
  read(fd, buffer, 0, buffer.length, null, (error, length) => {
    if (error) process.exit(0);
    const body = answer(buffer.subarray(0, length));
    if (body !== undefined) {
      const isError = typeof body === 'number';
      const header = Buffer.alloc(16);
      header.writeUInt32LE(16 + (isError ? 0 : body.length), 0);
      header.writeInt32LE(isError ? -body : 0, 4);
      buffer.copy(header, 8, 8, 16);
      writeSync(fd, isError ? header : Buffer.concat([header, body]));
    }
    next();
  });
}
next();
