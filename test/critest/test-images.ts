import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { OciLayout } from '#support/fakes/oci-layout.js';
import { packTar, type TarMember } from '#support/builders/pack-tar.js';
import { type BasePrograms } from './base-programs.js';
import { makeBaseRoot } from './base-root.js';

const E2E = 'registry.k8s.io/e2e-test-images';
const STAGING = 'gcr.io/k8s-staging-cri-tools';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The part of the OCI image configuration that containers are started with. */
interface ImageDefaults {
  readonly User?: string;
  readonly Env: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
}

const ENVIRONMENT = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
const SHELL: ImageDefaults = { Env: ENVIRONMENT, Cmd: ['sh'] };

/**
 * A web server with nginx's outside: its pid file, its process name, its title in the command line. busybox finds
 * the applet by the last part of its first argument.
 */
function nginxScript(port: number): string {
  return `#!/bin/sh
echo $$ > /var/run/nginx.pid
exec -a 'nginx: master process /bin/httpd' /usr/sbin/nginx -f -p ${port} -h /usr/share/nginx/html
`;
}

const HTTPD_SCRIPT = `#!/bin/sh
echo 'httpd serves on port 80'
exec httpd -f -p 80 -h /usr/local/apache2/htdocs
`;

/** Tries to become root through a set-user-id program and tells how that went. */
const ESCALATION_SCRIPT = `#!/bin/sh
uid=$(/bin/su root -c 'id -u' 2>/dev/null) || uid=$(id -u)
echo "Effective uid: $uid"
`;

const PAGE = '<html><body>It works</body></html>\n';

interface TestImage {
  readonly names: readonly string[];
  readonly config: ImageDefaults;
  /** What it has above the base. */
  readonly files?: readonly TarMember[];
  /** With busybox under nginx's name, too: a process is called after the file that it runs. */
  readonly nginx?: boolean;
}

const TEST_IMAGES: readonly TestImage[] = [
  { names: [`${E2E}/busybox:1.29-2`], config: SHELL },
  webServer(`${E2E}/nginx:1.14-2`, 80),
  webServer(`${STAGING}/hostnet-nginx-${ARCHITECTURES[process.arch] ?? process.arch}:latest`, 12003),
  {
    names: [`${E2E}/httpd:2.4.39-4`],
    config: { Env: ENVIRONMENT, Cmd: ['/usr/local/bin/httpd-foreground'] },
    files: [
      { name: 'usr/local/bin/httpd-foreground', content: HTTPD_SCRIPT },
      { name: 'usr/local/apache2/htdocs/index.html', mode: 0o644, content: PAGE },
    ],
  },
  {
    names: [`${E2E}/nonewprivs:1.3`],
    config: { Env: ENVIRONMENT, Entrypoint: ['/nnp'] },
    files: [{ name: 'nnp', content: ESCALATION_SCRIPT }],
  },
  {
    names: ['registry.k8s.io/pause:3.9', 'k8s.gcr.io/pause:3.9'],
    config: { Env: ENVIRONMENT, Entrypoint: ['/bin/tail', '-f', '/dev/null'] },
  },
  { names: [`${STAGING}/test-image-user-uid:latest`], config: { ...SHELL, User: '1002' } },
  { names: [`${STAGING}/test-image-user-username:latest`], config: { ...SHELL, User: 'www-data' } },
  { names: [`${STAGING}/test-image-user-uid-group:latest`], config: { ...SHELL, User: '1003:1004' } },
  {
    names: [`${STAGING}/test-image-user-username-group:latest`],
    config: { ...SHELL, User: 'www-data:1004' },
  },
  { names: [`${STAGING}/test-image-predefined-group:latest`], config: { ...SHELL, User: '1000' } },
  ...['1', '2', '3', 'latest', 'digest'].map((name) => marked(`test-image-${name}`, [`${name}:latest`])),
  marked('same-image', ['tags:1', 'tags:2', 'tags:3']),
  marked('test', ['tag:test']),
  marked('all', ['tag:all']),
];

/** One of the images that differ in nothing but a file. */
function marked(file: string, endings: readonly string[]): TestImage {
  return {
    names: endings.map((ending) => `${STAGING}/test-image-${ending}`),
    config: SHELL,
    files: [{ name: file, mode: 0o644 }],
  };
}

function webServer(name: string, port: number): TestImage {
  return {
    names: [name],
    config: { Env: ENVIRONMENT, Cmd: ['/usr/sbin/start-nginx'] },
    files: [
      { name: 'usr/sbin/start-nginx', content: nginxScript(port) },
      { name: 'usr/share/nginx/html/index.html', mode: 0o644, content: PAGE },
    ],
    nginx: true,
  };
}

/**
 * Makes every image that critest pulls, under the names that it asks for, as one OCI layout below the folder. The
 * one that it asks for by digest cannot be among them: only its publisher has those bytes.
 */
export async function makeTestImages(imageDir: string, programs: BasePrograms): Promise<void> {
  const layout = new OciLayout();
  const base = packTar(await makeBaseRoot(programs));
  const nginx = packTar([{ name: 'usr/sbin/nginx', content: await readFile(programs.busybox) }]);
  for (const { names, config, files = [], nginx: withNginx = false } of TEST_IMAGES) {
    const layers = [base, ...(withNginx ? [nginx] : []), ...(files.length > 0 ? [packTar(files)] : [])];
    layout.addImage({ names, layers, config, compression: 'gzip' });
  }
  for (const [name, content] of layout.toFiles()) {
    const file = path.join(imageDir, 'critest', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}
