/**
 * How the images of the suite are made of Debian's packages, and what their configs say: USER, VOLUME, ENTRYPOINT, CMD,
 * STOPSIGNAL, HEALTHCHECK, ENV and WORKDIR are those of Docker's official images of these names. The scripts are this
 * suite's own, and do what those of the official images do: as root they prepare the data folder, and then drop to a user.
 *
 * @module
 */

/** An image, made of a common base, packages, files and a script. */
export interface ImageRecipe {
  /** Of the image, its manifest in `manifests` and its test. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Shell, run in the root before and after the packages are installed. */
  readonly before?: string;
  readonly after?: string;
  /** Scripts and settings, by path; those below a `bin` may be run. */
  readonly files?: Readonly<Record<string, string>>;
  /** As it stands in the image. */
  readonly config: object;
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const ENTRYPOINT = '/usr/local/bin/docker-entrypoint.sh';

/** A script that gives folders to a user, and goes on as that one. */
function asUser(user: string, folders: string, rest = ''): string {
  return `#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p ${folders}
  chown -R ${user} ${folders}
  exec setpriv --reuid=${user} --regid=${user} --init-groups "$0" "$@"
fi
${rest}
exec "$@"
`;
}

/** All twelve, the smaller ones first. */
export const IMAGE_RECIPES: readonly ImageRecipe[] = [
  { name: 'busybox', packages: ['busybox'], config: { Env: [PATH], Cmd: ['sh'] } },
  {
    name: 'nginx',
    packages: ['nginx-light'],
    after: 'ln -sf /dev/stdout /var/log/nginx/access.log; ln -sf /dev/stderr /var/log/nginx/error.log',
    files: {
      '/etc/nginx/nginx.conf': `user www-data;
events {}
http { include /etc/nginx/mime.types; access_log /var/log/nginx/access.log; include /etc/nginx/conf.d/*.conf; }
`,
      '/etc/nginx/conf.d/default.conf': 'server { listen 80; root /usr/share/nginx/html; }\n',
      [ENTRYPOINT]: '#!/bin/sh\nset -e\nexec "$@"\n',
    },
    config: {
      Env: [PATH],
      Entrypoint: [ENTRYPOINT],
      Cmd: ['nginx', '-g', 'daemon off;'],
      ExposedPorts: { '80/tcp': {} },
      StopSignal: 'SIGQUIT',
    },
  },
  {
    name: 'httpd',
    packages: ['apache2'],
    files: {
      '/etc/apache2/sites-available/000-default.conf': `<VirtualHost *:80>
DocumentRoot /usr/local/apache2/htdocs
<Directory /usr/local/apache2/htdocs>
Require all granted
</Directory>
CustomLog /proc/self/fd/1 common
ErrorLog /proc/self/fd/2
</VirtualHost>
`,
      '/usr/local/apache2/htdocs/index.html': 'It works!\n',
      '/usr/local/bin/httpd-foreground': `#!/bin/sh
set -e
rm -f /var/run/apache2/apache2.pid
. /etc/apache2/envvars
mkdir -p "$APACHE_RUN_DIR" "$APACHE_LOCK_DIR"
exec apache2 -DFOREGROUND
`,
    },
    config: {
      Env: [PATH],
      Cmd: ['httpd-foreground'],
      WorkingDir: '/usr/local/apache2',
      ExposedPorts: { '80/tcp': {} },
      StopSignal: 'SIGWINCH',
    },
  },
  {
    name: 'redis',
    packages: ['redis-server'],
    after: 'mkdir /data; chown redis:redis /data',
    files: { [ENTRYPOINT]: asUser('redis', '/data') },
    config: {
      Env: [PATH],
      Entrypoint: [ENTRYPOINT],
      Cmd: ['redis-server'],
      WorkingDir: '/data',
      Volumes: { '/data': {} },
      ExposedPorts: { '6379/tcp': {} },
    },
  },
  {
    name: 'memcached',
    packages: ['memcached'],
    files: { [ENTRYPOINT]: '#!/bin/sh\nset -e\ncase $1 in -*) set -- memcached "$@" ;; esac\nexec "$@"\n' },
    config: {
      Env: [PATH],
      User: 'memcache',
      Entrypoint: [ENTRYPOINT],
      Cmd: ['memcached'],
      ExposedPorts: { '11211/tcp': {} },
    },
  },
  {
    name: 'postgres',
    packages: ['postgresql'],
    // Debian's package would make a database of its own.
    before:
      'mkdir -p /etc/postgresql-common; echo create_main_cluster=false > /etc/postgresql-common/createcluster.conf',
    after: `ln -s /usr/lib/postgresql/*/bin /usr/lib/postgresql/bin
sed -i "s/^#listen_addresses = .*/listen_addresses = '*'/" /usr/share/postgresql/*/postgresql.conf.sample
mkdir -p /var/lib/postgresql/data /var/run/postgresql
chown -R postgres:postgres /var/lib/postgresql /var/run/postgresql; chmod 1777 /var/lib/postgresql/data`,
    files: {
      [ENTRYPOINT]: asUser(
        'postgres',
        '"$PGDATA" /var/run/postgresql',
        `chmod 700 "$PGDATA"
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb -D "$PGDATA" -U "\${POSTGRES_USER:-postgres}" --pwfile=/tmp/password --auth-host=scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi`,
      ),
    },
    config: {
      Env: [`${PATH}:/usr/lib/postgresql/bin`, 'PGDATA=/var/lib/postgresql/data', 'LANG=C.UTF-8'],
      Entrypoint: [ENTRYPOINT],
      Cmd: ['postgres'],
      Volumes: { '/var/lib/postgresql/data': {} },
      ExposedPorts: { '5432/tcp': {} },
      StopSignal: 'SIGINT',
    },
  },
  {
    name: 'mariadb',
    packages: ['mariadb-server'],
    after:
      'rm -rf /var/lib/mysql; mkdir -p /var/lib/mysql /run/mysqld; chown mysql:mysql /var/lib/mysql /run/mysqld',
    files: {
      '/etc/mysql/mariadb.conf.d/99-image.cnf': '[mariadbd]\nbind-address=*\nskip-name-resolve\n',
      [ENTRYPOINT]: asUser(
        'mysql',
        '/var/lib/mysql /run/mysqld',
        `if [ "$1" = mariadbd ] && [ ! -d /var/lib/mysql/mysql ]; then
  mariadb-install-db --skip-test-db --auth-root-authentication-method=normal > /dev/null
  printf "ALTER USER root@localhost IDENTIFIED BY '%s';\\n" "$MARIADB_ROOT_PASSWORD" > /tmp/init.sql
  set -- "$@" --init-file=/tmp/init.sql
fi`,
      ),
    },
    config: {
      Env: [PATH],
      Entrypoint: [ENTRYPOINT],
      Cmd: ['mariadbd'],
      Volumes: { '/var/lib/mysql': {} },
      ExposedPorts: { '3306/tcp': {} },
    },
  },
  {
    name: 'node',
    packages: ['nodejs'],
    after: 'groupadd --gid 1000 node; useradd --uid 1000 --gid node --shell /bin/bash --create-home node',
    files: {
      [ENTRYPOINT]: '#!/bin/sh\nset -e\ncase $1 in -*) set -- node "$@" ;; esac\nexec "$@"\n',
    },
    config: { Env: [PATH, 'NODE_VERSION=debian'], Entrypoint: [ENTRYPOINT], Cmd: ['node'] },
  },
  {
    name: 'python',
    packages: ['python3'],
    after: 'ln -s python3 /usr/bin/python',
    config: { Env: [PATH, 'LANG=C.UTF-8'], Cmd: ['python3'] },
  },
  {
    name: 'php',
    packages: ['php-cli'],
    files: { '/usr/local/bin/docker-php-entrypoint': '#!/bin/sh\nset -e\nexec "$@"\n' },
    config: {
      Env: [PATH],
      Entrypoint: ['docker-php-entrypoint'],
      Cmd: ['php', '-a'],
      // Nobody runs it in Kubernetes; what is in an image is no reason to.
      Healthcheck: { Test: ['CMD', 'false'], Interval: 1_000_000_000, Retries: 1 },
    },
  },
  {
    name: 'rabbitmq',
    packages: ['rabbitmq-server'],
    after: 'rm -rf /var/lib/rabbitmq/* /var/log/rabbitmq/*; chown rabbitmq:rabbitmq /var/lib/rabbitmq',
    files: { [ENTRYPOINT]: asUser('rabbitmq', '/var/lib/rabbitmq /var/log/rabbitmq') },
    config: {
      Env: [PATH, 'RABBITMQ_LOGS=-', 'HOME=/var/lib/rabbitmq', 'LANG=C.UTF-8'],
      Entrypoint: [ENTRYPOINT],
      Cmd: ['/usr/lib/rabbitmq/bin/rabbitmq-server'],
      Volumes: { '/var/lib/rabbitmq': {} },
      ExposedPorts: { '5672/tcp': {} },
    },
  },
  {
    name: 'openjdk',
    packages: ['default-jdk-headless'],
    config: { Env: [PATH, 'LANG=C.UTF-8'], Cmd: ['jshell'] },
  },
];
