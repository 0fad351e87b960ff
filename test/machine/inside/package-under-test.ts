import { RELEASE_IN_MACHINE } from '../payload.js';

/** Installs the Debian package of the release, or upgrades to it, with the words of that on its standard output. */
export const INSTALL_PACKAGE = `dpkg -i ${RELEASE_IN_MACHINE}/podloop_*_amd64.deb 2>&1`;
