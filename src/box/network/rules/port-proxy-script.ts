/**
 * The program of a port proxy: one small Node process for each pod that has host ports, where there are no packet
 * rules to do it. It is a text, written to the runtime's root, since it must outlive the runtime that started it.
 *
 * Arguments: a JSON object with `address` (of the pod), `hostPorts`, `holder` (pid and startTicks), `recordPath`,
 * `identityPath`. It binds every port or ends with the reason in its first line of output; writes who it is to
 * `identityPath`; says `ready`; and ends by itself when the holder is gone, the record is, or another proxy has
 * put itself into `identityPath`. With `check` in the object it ends as soon as it has bound everything.
 *
 * @module
 */

/** Plain JavaScript, CommonJS, for the Node that runs podloop. */
export const PORT_PROXY_SCRIPT = String.raw`'use strict';
const net = require('node:net');
const dgram = require('node:dgram');
const fs = require('node:fs');
const task = JSON.parse(process.argv[2]);
const LOOK_MS = 1000;
const UDP_IDLE_MS = 60000;
const MAX_UDP_CLIENTS = 1024;
const CONNECT_MS = 10000;

function startOf(pid) {
  try {
    const line = fs.readFileSync('/proc/' + pid + '/stat', 'latin1');
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

// A wildcard is bound for both families at once; where the kernel has no IPv6, for IPv4 alone.
function hostsOf(hostIp) {
  if (hostIp === '' || hostIp === '::') return ['::', '0.0.0.0'];
  return [hostIp];
}

async function bind(port) {
  const listen = port.protocol === 'tcp' ? listenTcp : listenUdp;
  let failure;
  for (const host of hostsOf(port.hostIp)) {
    try {
      return await listen(port, host);
    } catch (error) {
      failure = error;
      if (error.code !== 'EAFNOSUPPORT' && !(host === '::' && error.code === 'EADDRNOTAVAIL')) break;
    }
  }
  throw failure;
}

function listenTcp(port, host) {
  return new Promise((resolve, reject) => {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const pod = net.connect({ host: task.address, port: port.containerPort, allowHalfOpen: true, noDelay: true });
      const close = () => {
        client.destroy();
        pod.destroy();
      };
      const limit = setTimeout(close, CONNECT_MS);
      pod.once('connect', () => {
        clearTimeout(limit);
        client.pipe(pod);
        pod.pipe(client);
      });
      for (const socket of [client, pod]) {
        socket.on('error', () => {
          clearTimeout(limit);
          // The other side learns of a reset as a reset.
          for (const end of [client, pod]) if (!end.destroyed) end.resetAndDestroy();
        });
      }
      // One that closed after its end leaves the other what is still to be written.
      client.once('close', () => client.readableEnded || pod.destroy());
      pod.once('close', () => pod.readableEnded || client.destroy());
    });
    server.once('error', reject);
    server.listen({ host, port: port.hostPort, backlog: 1024 }, () => {
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function listenUdp(port, host) {
  return new Promise((resolve, reject) => {
    const clients = new Map();
    const server = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
    server.on('message', (message, from) => {
      const key = from.address + ' ' + from.port;
      let client = clients.get(key);
      if (client === undefined) {
        if (clients.size >= MAX_UDP_CLIENTS) drop(clients.keys().next().value);
        const socket = dgram.createSocket(task.address.includes(':') ? 'udp6' : 'udp4');
        client = { socket, seen: 0 };
        socket.on('message', (answer) => server.send(answer, from.port, from.address, () => undefined));
        socket.on('error', () => drop(key));
      }
      client.seen = performance.now();
      // The one that was heard of last stands last: the first is dropped when there are too many.
      clients.delete(key);
      clients.set(key, client);
      client.socket.send(message, port.containerPort, task.address, () => undefined);
    });
    const drop = (key) => {
      const client = clients.get(key);
      clients.delete(key);
      if (client !== undefined) client.socket.close();
    };
    setInterval(() => {
      for (const [key, client] of clients) if (performance.now() - client.seen > UDP_IDLE_MS) drop(key);
    }, UDP_IDLE_MS / 4);
    server.once('error', reject);
    server.bind({ address: host, port: port.hostPort }, () => {
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function endWhenUnwanted() {
  const me = process.pid + ' ' + startOf(process.pid);
  fs.writeFileSync(task.identityPath + '.tmp', me);
  fs.renameSync(task.identityPath + '.tmp', task.identityPath);
  setInterval(() => {
    let named = '';
    try {
      named = fs.readFileSync(task.identityPath, 'utf8');
    } catch {}
    const wanted = named === me && fs.existsSync(task.recordPath);
    if (!wanted || startOf(task.holder.pid) !== task.holder.startTicks) process.exit(0);
  }, LOOK_MS);
}

async function main() {
  for (const port of task.hostPorts) {
    try {
      await bind(port);
    } catch (error) {
      fs.writeSync(1, (port.hostIp + ' ' + port.hostPort + '/' + port.protocol + ': ' + error.message).trim() + '\n');
      process.exit(1);
    }
  }
  if (!task.check) endWhenUnwanted();
  fs.writeSync(1, 'ready\n');
  if (task.check) process.exit(0);
}

process.on('SIGPIPE', () => undefined);
void main();
`;
