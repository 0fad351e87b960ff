/** The root folder of an agent that runs as root, unless told. */
export const USUAL_ROOT_DIR = '/var/lib/podloop';

/** The name of an agent's socket in its root folder. */
export const SOCKET_NAME = 'podloop.sock';

/** In the usual root folder: the root folders of batches. */
export const BATCHES_FOLDER = 'batches';
