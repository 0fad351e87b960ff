/**
 * The commands about images, in one piece: they share most of their code, and a piece of the program each would be many files.
 *
 * @module
 */
export { imageCommand } from './image-inspect.js';
export { imagesCommand } from './image-list.js';
export { loadCommand } from './image-load.js';
export { pullCommand } from './image-pull.js';
export { pruneCommand, removeImageCommand } from './image-remove.js';
export { saveCommand } from './image-save.js';
