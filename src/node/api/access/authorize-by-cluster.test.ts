import { describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { BusyError } from '#base/errors/busy-error.js';
import { ApiError } from '../http/api-error.js';
import { authorizeByCluster, type AuthorizeByClusterOptions } from './authorize-by-cluster.js';
import { type ApiUser, TokenTable } from './token-table.js';

type Cluster = AuthorizeByClusterOptions['cluster'];

interface Asked {
  readonly path?: string;
  readonly template?: string;
  readonly method?: string;
  readonly token?: string;
  readonly header?: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly certificate?: ApiUser;
}

const ANN: ApiUser = { name: 'ann', groups: ['ops'] };

/** A cluster with one user, `ann`, who has the token `anns` and whatever `granted` names. */
function scene(granted: readonly string[] = [], more: Partial<AuthorizeByClusterOptions & Cluster> = {}) {
  const asked: string[] = [];
  const cluster: Cluster = {
    authenticate: async (token) => Promise.resolve(token === 'anns' ? ANN : undefined),
    authorize: async ({ name, groups }, { verb, subresource }) => {
      asked.push(`${name}(${groups.join()}) ${verb} ${subresource}`);
      return Promise.resolve(granted.includes(`${verb} ${subresource}`));
    },
    ...(more.authenticate === undefined ? {} : { authenticate: more.authenticate }),
    ...(more.authorize === undefined ? {} : { authorize: more.authorize }),
  };
  const log = new LogRecorder();
  const authorize = authorizeByCluster({
    tokens: () => TokenTable.parse('own,owner,1'),
    isAnonymousKnown: more.isAnonymousKnown ?? false,
    ...{ cluster, logger: log },
  });
  const ask = async ({
    path = '/stats/summary',
    template,
    method = 'GET',
    token,
    header,
    more: others = {},
    certificate,
  }: Asked) => {
    const authorization = header ?? (token === undefined ? undefined : `Bearer ${token}`);
    const headers = { ...others, ...(authorization === undefined ? {} : { authorization }) };
    const signal = new AbortController().signal;
    const request = { method, path, template: template ?? path, headers, signal };
    const verdict = await authorize(request, { localAddress: '::1', remoteAddress: '10.0.0.7', certificate });
    return verdict instanceof ApiError ? `${verdict.code} ${verdict.message}` : verdict;
  };
  return { ask, asked, log };
}

describe('who is let in by a cluster', () => {
  it('is who may do what he asks for, by token or certificate, as one of the authenticated', async () => {
    const { ask, asked } = scene(['get stats']);
    expect(await ask({ token: 'anns' })).toBeUndefined();
    expect(await ask({ certificate: { name: 'bob', groups: [] } })).toBeUndefined();
    expect(asked).toEqual(['ann(ops,system:authenticated) get stats', 'bob(system:authenticated) get stats']);
  });

  describe('when the request bears the marks of a page', () => {
    const certificate = { name: 'api-server', groups: [] };
    const stream = { path: '/exec/ns/pod/c', template: '/exec/:namespace/:name/:container' };
    const command = { method: 'POST', path: '/run/ns/pod/c', template: '/run/:namespace/:name/:container' };
    const webSocket = { upgrade: 'websocket', connection: 'upgrade' };
    const named = { 'x-forwarded-for': '10.0.0.1' };
    const marks: readonly Readonly<Record<string, string>>[] = [
      { origin: 'http://localhost' },
      { origin: 'https://terminal.example', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' },
      ...['cross-site', 'same-site'].map((site) => ({ 'sec-fetch-site': site })),
      { origin: 'https://terminal.example', 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'cross-site' },
    ];
    const refused = '403 requests of web pages are not answered';

    it.each(marks)(
      'is who has a certificate and names for whom he asks, for streams and to read, as an API server does: %j',
      async (mark) => {
        const { ask, asked } = scene(['create proxy', 'get stats']);
        expect(
          await ask({ ...stream, certificate, more: { ...mark, ...webSocket, ...named } }),
        ).toBeUndefined();
        const spdy = { upgrade: 'SPDY/3.1', connection: 'upgrade' };
        const post = { ...stream, method: 'POST' };
        expect(await ask({ ...post, certificate, more: { ...mark, ...spdy, ...named } })).toBeUndefined();
        for (const method of ['GET', 'HEAD']) {
          expect(await ask({ method, certificate, more: { ...mark, ...named } })).toBeUndefined();
        }
        expect(asked.map((each) => each.replace(/^\S+ /, ''))).toEqual([
          ...['create proxy', 'create proxy', 'get stats', 'get stats'],
        ]);
      },
    );

    it.each(marks)('is nobody whose request a page could have made so itself: %j', async (mark) => {
      const { ask, asked } = scene(['create proxy', 'get stats', 'get proxy'], { isAnonymousKnown: true });
      // A browser shows the certificate that somebody has put into it.
      expect(await ask({ ...stream, certificate, more: { ...mark, ...webSocket } })).toBe(refused);
      expect(await ask({ certificate, more: mark })).toBe(refused);
      // A script of this very port could name anybody.
      expect(await ask({ ...command, certificate, more: { ...mark, ...named } })).toBe(refused);
      expect(await ask({ ...command, certificate, more: mark })).toBe(refused);
      for (const who of [
        {},
        { token: 'anns' },
        { token: 'own' },
        { certificate: { name: '', groups: [] } },
      ]) {
        expect(await ask({ ...stream, ...who, more: { ...mark, ...webSocket, ...named } })).toBe(refused);
        expect(await ask({ ...who, more: { ...mark, ...named } })).toBe(refused);
      }
      expect(asked).toEqual([]);
    });

    it('is nobody either who has a certificate and may not do what he asks for', async () => {
      const { ask } = scene(['get proxy']);
      for (const mark of marks) {
        expect(await ask({ ...stream, certificate, more: { ...mark, ...webSocket, ...named } })).toBe(
          '403 Forbidden (user=api-server, verb=create, resource=nodes, subresource(s)=[proxy])',
        );
      }
    });
  });

  it('is the owner, and the masters, without a question', async () => {
    const { ask, asked } = scene();
    expect(await ask({ token: 'own' })).toBeUndefined();
    expect(await ask({ certificate: { name: 'admin', groups: ['system:masters'] } })).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('is nobody who is not known', async () => {
    const { ask, asked } = scene(['get stats', 'get proxy']);
    expect(await ask({})).toBe('401 Unauthorized');
    expect(await ask({ token: 'made-up' })).toBe('401 Unauthorized');
    expect(await ask({ header: 'Basic eDp5' })).toBe('401 Unauthorized');
    expect(await ask({ certificate: { name: '', groups: ['system:masters'] } })).toBe('401 Unauthorized');
    expect(asked).toEqual([]);
  });

  it('goes by the certificate where there is a token as well', async () => {
    const { ask, asked } = scene();
    await ask({ token: 'anns', certificate: { name: 'bob', groups: [] } });
    expect(asked).toEqual(['bob(system:authenticated) get stats']);
  });

  it.each([
    ['GET', '/pods', 'get pods, get proxy'],
    ['GET', '/runningpods', 'get pods, get proxy'],
    ['GET', '/configz', 'get configz, get proxy'],
    ['GET', '/healthz/ping', 'get healthz, get proxy'],
    ['GET', '/metrics/cadvisor', 'get metrics'],
    ['HEAD', '/stats/summary', 'get stats'],
    ['GET', '/logs/', 'get log'],
    ['POST', '/checkpoint/ns/pod/c', 'create checkpoint'],
    ['POST', '/exec/ns/pod/c', 'create proxy'],
    ['GET', '/api/v1/namespaces/ns/pods/a', 'get proxy'],
    ['PATCH', '/anything', 'patch proxy'],
  ])('may %s %s when granted one of: %s', async (method, path, words) => {
    const { ask, asked } = scene();
    const names = words.split(', ').map((each) => each.split(' ')[1]);
    const verb = words.split(' ')[0];
    expect(await ask({ method, path, token: 'anns' })).toBe(
      `403 Forbidden (user=ann, verb=${verb}, resource=nodes, subresource(s)=[${names.join(' ')}])`,
    );
    expect(asked.map((each) => each.replace(/^\S+ /, ''))).toEqual(words.split(', '));
  });

  it.each([
    ['/exec/ns/pod/c', '/exec/:namespace/:name/:container'],
    ['/attach/ns/pod/c', '/attach/:namespace/:name/:container'],
    ['/portForward/ns/pod', '/portForward/:namespace/:name'],
    ['/api/v1/namespaces/ns/pods/pod/exec', '/api/v1/namespaces/:namespace/pods/:name/exec'],
    ['/api/v1/namespaces/ns/pods/pod/attach', '/api/v1/namespaces/:namespace/pods/:name/attach'],
    ['/api/v1/namespaces/ns/pods/pod/portforward', '/api/v1/namespaces/:namespace/pods/:name/portforward'],
  ])(
    'may GET %s only when granted to create, as who may read is not to run commands',
    async (path, template) => {
      const { ask } = scene(['get proxy']);
      expect(await ask({ path, template, token: 'anns' })).toMatch(/^403 Forbidden \(user=ann, verb=create,/);
      expect(await scene(['create proxy']).ask({ path, template, token: 'anns' })).toBeUndefined();
    },
  );

  const POD = '/api/v1/namespaces/:namespace/pods/:name';

  it.each([
    ['POST', '/api/v1/namespaces/:namespace/pods'],
    ['PUT', POD],
    ['PATCH', POD],
    ['DELETE', POD],
    ['PATCH', '/api/v1/namespaces/:namespace/configmaps/:name'],
  ])(
    'may %s %s by a token of the file or as a master alone, whatever the cluster grants',
    async (method, path) => {
      const { ask, asked } = scene(['create', 'update', 'patch', 'delete'].map((verb) => `${verb} proxy`));
      for (const who of [{ token: 'anns' }, { certificate: { name: 'bob', groups: [] } }])
        expect(await ask({ method, path, ...who })).toMatch(
          /^403 Objects .* API server: .* system:masters may$/,
        );
      expect(await ask({ method, path, token: 'own' })).toBeUndefined();
      const certificate = { name: 'admin', groups: ['system:masters'] };
      expect(await ask({ method, path, certificate })).toBeUndefined();
      expect(asked).toEqual([]);
    },
  );

  it('is nobody who has shown nothing, of what is in pods, whatever the cluster says', async () => {
    const { ask, asked } = scene(['get proxy', 'get log', 'get pods', 'get configz', 'create checkpoint'], {
      isAnonymousKnown: true,
    });
    for (const path of [
      '/pods',
      '/logs/',
      '/containerLogs/a/b/c',
      '/configz',
      '/api/v1/pods',
      '/checkpoint',
    ]) {
      expect(await ask({ path, method: path === '/checkpoint' ? 'POST' : 'GET' })).toMatch(/^403 /);
    }
    expect(asked).toEqual([]);
  });

  it('goes by the path as it is served, however it is written', async () => {
    const { ask, asked } = scene();
    await ask({ path: '/%73tats/summary', template: '/stats/summary', token: 'anns' });
    expect(asked).toEqual(['ann(ops,system:authenticated) get stats']);
  });

  it('needs only the wider right', async () => {
    const { ask } = scene(['get proxy']);
    expect(await ask({ path: '/pods', token: 'anns' })).toBeUndefined();
  });

  it('is for health also who has shown nothing, where that is wanted; for all else the cluster is asked', async () => {
    const { ask, asked } = scene(['get metrics'], { isAnonymousKnown: true });
    expect(await ask({ path: '/healthz' })).toBe('anonymous');
    expect(await ask({ path: '/stats/summary' })).toMatch(/^403 Forbidden \(user=system:anonymous, /);
    expect(await ask({ path: '/metrics' })).toBe('anonymous');
    expect(await ask({ path: '/healthz', token: 'made-up' })).toBe('401 Unauthorized');
    expect(asked).toEqual([
      'system:anonymous(system:unauthenticated) get stats',
      'system:anonymous(system:unauthenticated) get metrics',
    ]);
  });

  it('is asked to come again, and not refused as unknown, when too many questions are pending', async () => {
    const froms: (string | undefined)[] = [];
    const busy = async () => Promise.reject(new BusyError('there are 32 questions under way already'));
    const tokens = scene([], {
      authenticate: async (_token, _signal, from) => {
        froms.push(from);
        return busy();
      },
    });
    expect(await tokens.ask({ token: 'anns' })).toBe('429 Too many requests, please try again later.');
    expect(froms).toEqual(['10.0.0.7']);
    expect(tokens.log.lines).toEqual([]);
    const access = scene([], { authorize: busy });
    expect(await access.ask({ token: 'anns' })).toMatch(/^429 /);
  });

  it('is nobody while the cluster cannot be asked: 401 and a line in the log, or 500', async () => {
    const away = async () => Promise.reject(new Error('connect ECONNREFUSED'));
    const tokens = scene([], { authenticate: away });
    expect(await tokens.ask({ token: 'anns' })).toBe('401 Unauthorized');
    expect(JSON.stringify(tokens.log.lines)).toContain('ECONNREFUSED');
    expect(JSON.stringify(tokens.log.lines)).not.toContain('anns');
    const access = scene([], { authorize: away });
    expect(await access.ask({ token: 'anns', path: '/pods' })).toBe(
      '500 Authorization error (user=ann, verb=get, resource=nodes, subresource=pods)',
    );
  });
});
