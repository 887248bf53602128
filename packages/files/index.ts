/** Stores uploaded files, and determines their names and types. */
export { fileName } from "./name.ts";
export { fileStore, type FilesSettings, filesSettings, filesEnvironment, uploadEnvironment } from "./settings.ts";
export { acceptedType, type Declared, HEAD_BYTES } from "./type.ts";
