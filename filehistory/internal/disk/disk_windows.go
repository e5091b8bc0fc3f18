package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

const (
	noFollow = 0
	noWait   = 0
)

func infoOf(st fs.FileInfo) Info {
	return Info{Mode: st.Mode(), Size: st.Size(), Mtime: st.ModTime().UnixNano(), Links: 1}
}

// Chown does nothing: a new file inherits its access list from its folder.
func (d *FS) Chown(string, int, int) error { return nil }

// ChownFile does nothing, as [FS.Chown].
func (d *FS) ChownFile(*os.File, int, int) error { return nil }

// Windows cannot flush a folder; NTFS journals names by itself.
func syncDir(string) error { return nil }

func linkError(err error) error { return err }

func rename(from, to string) error { return os.Rename(from, to) }

// ReadRegular is [OpenRegular] and, for what is no longer than limit, the reading
// of it: then there is no file to close.
func ReadRegular(path string, limit int64) ([]byte, *os.File, Info, error) {
	f, info, err := OpenRegular(path)
	if err != nil || info.Size > limit {
		return nil, f, info, err
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit { // it is growing
		return nil, f, info, nil
	}
	return content, nil, info, errors.Join(err, f.Close())
}
