/** The default root folder of an agent that runs as root. */
export const USUAL_ROOT_DIR = '/var/lib/podloop';

/** The name of an agent's socket in its root folder. */
export const SOCKET_NAME = 'podloop.sock';

/** The subfolder of the default root folder that holds the root folders of batches. */
export const BATCHES_FOLDER = 'batches';
