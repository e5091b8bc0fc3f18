package tools

// nonblock is needless here: a named pipe is no path of the file system.
const nonblock = 0
