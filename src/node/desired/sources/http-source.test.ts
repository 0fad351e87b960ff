import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aManifest } from '#support/builders/a-manifest.js';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { formatConfigProblem } from '../config-problem.js';
import { HTTP_SOURCE, HttpSource, type HttpSourceOptions } from './http-source.js';
import { LARGEST_MANIFEST_BYTES } from '../manifests/manifest-reader.js';
import { INLINE_PARSER } from '../manifests/parse-manifest.js';
import { type DeliveryOptions } from '../pod-config.js';
import { ProblemBook } from '../problem-book.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const says =
  (status: number, body = '', headers: Record<string, string> = {}): Handler =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

/** A server on loopback, and a source that asks it every few milliseconds. */
class Lab implements AsyncDisposable {
  readonly #servers: Server[] = [];
  readonly folder: string;
  url = new URL('http://127.0.0.1');
  handler: Handler = says(404);
  requests: IncomingMessage[] = [];
  deliveries: { readonly pods: readonly NodePod[]; readonly options: DeliveryOptions }[] = [];
  told: string[] = [];
  problems = new ProblemBook();
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<Lab> {
    const lab = new Lab(await mkdtemp(join(tmpdir(), 'podloop-http-source-')));
    lab.url = new URL('/pods', await lab.serve((request, response) => lab.handler(request, response)));
    return lab;
  }

  async serve(handler: Handler): Promise<string> {
    const server = createServer((request, response) => {
      this.requests.push(request);
      handler(request, response);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  start(options: Partial<HttpSourceOptions> = {}): void {
    [this.deliveries, this.told, this.requests] = [[], [], []];
    this.#stop = new AbortController();
    const strip = (text: string): string => text.replaceAll(this.url.origin, '');
    this.problems = new ProblemBook({
      onProblem: (problem) => this.told.push(strip(formatConfigProblem(problem))),
    });
    const source = new HttpSource({
      ...{ url: this.url, nodeName: 'node', problems: this.problems, parser: INLINE_PARSER },
      ...{ lastGoodFolder: this.folder, clock: new SystemClock(), httpCheckFrequencyMs: 10 },
      port: { deliver: (pods, delivery = {}) => this.deliveries.push({ pods, options: delivery }) },
      ...options,
    });
    this.#running = source.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  get pods(): string {
    const { pods } = this.deliveries.at(-1) ?? { pods: [] };
    return pods.map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0]!.image}`).join();
  }

  get isComplete(): boolean | undefined {
    return this.deliveries.at(-1)?.options.isComplete;
  }

  async moreRequests(count = 3): Promise<void> {
    const enough = this.requests.length + count;
    await untilTrue(() => this.requests.length >= enough);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

describe('a URL of manifests', () => {
  it('gives objects, too, and keeps them while it gives nothing good, over a restart', async () => {
    await using lab = await Lab.open();
    const objects = (): string[] =>
      lab.deliveries.at(-1)?.options.objects?.map(({ kind, metadata }) => `${kind} ${metadata.name}`) ?? [];
    lab.handler = says(200, 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { a: b }\n');
    lab.start();
    await untilTrue(() => objects().join() === 'Secret s');
    lab.handler = says(503);
    await lab.moreRequests();
    expect(objects()).toEqual(['Secret s']);
    expect(lab.told).toEqual([
      '/pods: cannot be read: the answer is 503 Service Unavailable; Secret default/s goes on as before',
    ]);
    await lab.stop();
    lab.start();
    await lab.moreRequests();
    expect(objects()).toEqual(['Secret s']);
    lab.handler = says(200, aManifest('web'));
    await untilTrue(() => lab.pods === 'web-node:a');
    expect(objects()).toEqual([]);
  });

  it('is asked again and again, and its pods follow', async () => {
    await using lab = await Lab.open();
    lab.handler = says(200, `${aManifest('a')}---\n${aManifest('b')}`);
    lab.start();
    await untilTrue(() => lab.pods === 'a-node:a,b-node:a');
    expect(lab.isComplete).toBe(true);
    const { metadata } = lab.deliveries.at(-1)!.pods[0]!;
    expect(metadata.annotations?.['kubernetes.io/config.source']).toBe('http');
    lab.handler = says(200, JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] }));
    await untilTrue(() => lab.pods === '');
    expect(lab.told).toEqual([]);
  });

  it('is sent the tag of what is known, and need not send it again', async () => {
    await using lab = await Lab.open();
    let unchanged = 0;
    lab.handler = (request, response) => {
      if (request.headers['if-none-match'] === '"1"') {
        unchanged++;
        response.writeHead(304).end();
      } else response.writeHead(200, { etag: '"1"' }).end(aManifest('a'));
    };
    lab.start();
    await untilTrue(() => unchanged > 2);
    expect(lab.requests.filter(({ headers }) => headers['if-none-match'] === undefined)).toHaveLength(1);
    expect(lab.pods).toBe('a-node:a');
    lab.handler = says(200, aManifest('a', 'b'));
    await untilTrue(() => lab.pods === 'a-node:b');
  });

  it('gets the headers that were asked for, and the password that is in it', async () => {
    await using lab = await Lab.open();
    lab.handler = says(200, aManifest('a'));
    lab.url.username = 'me';
    lab.url.password = 's3cr%20t';
    lab.start({ headers: { 'x-token': ['1', '2'] } });
    await untilTrue(() => lab.pods !== '');
    const { headers } = lab.requests[0]!;
    expect(headers['x-token']).toBe('1, 2');
    expect(headers.authorization).toBe(`Basic ${Buffer.from('me:s3cr t').toString('base64')}`);
  });

  it('may lead elsewhere; headers go to its own server alone', async () => {
    await using lab = await Lab.open();
    const seen: unknown[] = [];
    const other = await lab.serve((request, response) => {
      seen.push(request.headers['x-token'], request.headers.authorization);
      response.end(aManifest('a'));
    });
    lab.handler = (request, response) => {
      const location = request.url === '/pods' ? '/moved' : `${other}/there`;
      response.writeHead(302, { location }).end('moved');
    };
    lab.start({ headers: { 'X-Token': ['1'], Authorization: ['x'] } });
    await untilTrue(() => lab.pods === 'a-node:a');
    expect(lab.requests[1]!.headers['x-token']).toBe('1');
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });
});

describe('an answer that is not good', () => {
  const circle: Handler = (_, response) => void response.writeHead(302, { location: '/pods' }).end();
  it.each<[string, Handler, RegExp]>([
    ['of another status', says(500), /^\/pods: cannot be read: the answer is 500 Internal Server Error;/],
    ['of no change to nothing', says(304), /the answer is 304/],
    ['without a body', says(200), /^\/pods:1:1: there is no pod in it/],
    ['that is a page', says(200, '<html>\n'), /must be a mapping/],
    ['with a bad pod', says(200, aManifest('a').replace('image: a', 'image: ""')), /^\/pods:4:\d+: /],
    ['that is too large', says(200, ' '.repeat(LARGEST_MANIFEST_BYTES + 1)), /more than 1048576 bytes/],
    ['that leads round in circles', circle, /it leads on more than 5 times/],
    ['that leads to a file', says(302, '', { location: 'file:///etc/passwd' }), /leads to file:\/\/, which/],
    ['that never ends', (_, response) => void response.write('a'), /no answer within 0\.2 s/],
    ['that breaks off', (_, response) => void response.destroy(), /cannot be read: /],
  ])('%s keeps the pods, is reported once, and over a restart', async (_, handler, message) => {
    await using lab = await Lab.open();
    lab.handler = says(200, aManifest('a'));
    lab.start();
    await untilTrue(() => lab.pods === 'a-node:a');
    const good = lab.deliveries.at(-1)!.pods;
    await lab.stop();
    lab.handler = handler;
    lab.start({ deadlineMs: 200 });
    await untilTrue(() => lab.told.length > 0);
    await lab.moreRequests();
    expect(lab.told).toEqual([expect.stringMatching(message)]);
    expect(lab.told[0]).toContain('; default/a-node goes on as before');
    expect(lab.deliveries.at(-1)!.pods).toEqual(good);
    lab.handler = says(200, aManifest('b'));
    await untilTrue(() => lab.pods === 'b-node:a');
    expect(lab.problems.problems()).toEqual([]);
    expect(lab.isComplete).toBe(true);
  });

  it('is no answer at all; the source counts as seen once there was one', async () => {
    await using lab = await Lab.open();
    lab.handler = says(503);
    lab.start();
    await lab.moreRequests();
    expect(lab.isComplete).toBe(false);
    expect(lab.pods).toBe('');
    lab.handler = says(200, aManifest('a'));
    await untilTrue(() => lab.pods === 'a-node:a');
    expect(lab.isComplete).toBe(true);
    expect(await readdir(lab.folder)).toHaveLength(1);
  });

  it('is the one that is under way when all ends', async () => {
    await using lab = await Lab.open();
    lab.handler = () => undefined;
    lab.start();
    await untilTrue(() => lab.requests.length > 0);
    await lab.stop();
    expect(lab.told).toEqual([]);
  });

  it('reveals no password, and names the server that does not answer', async () => {
    await using lab = await Lab.open();
    const url = new URL('http://me:secret@127.0.0.1:1/pods?token=secret');
    lab.start({ url });
    await untilTrue(() => lab.told.length > 0);
    expect(lab.told[0]).toMatch(/^http:\/\/127\.0\.0\.1:1\/pods: cannot be read: /);
    expect(lab.told[0]).not.toContain('secret');
  });
});

it('belongs to the source http', () => {
  expect(HTTP_SOURCE).toBe('http');
});
