package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// What the API takes. An image that it refuses would fail every later request of
// the conversation too, so none is sent that it might refuse. It is not made smaller
// here: that means to hold the whole picture, hundreds of megabytes, and the
// standard library cannot do it well.
const (
	maxImageBase64 = 5 << 20
	maxImageSide   = 8000
)

// maxImageBytes is how long an image may be for its base64 to fit.
const maxImageBytes = maxImageBase64 / 4 * 3

type imageFile struct {
	Base64       string `json:"base64"`
	Type         string `json:"type"`
	OriginalSize int64  `json:"originalSize"`
}

// imageBlock makes the block that shows an image to the model, and the report of it.
func imageBlock(mediaType string, raw []byte) (protocol.Block, imageFile) {
	data := base64.StdEncoding.EncodeToString(raw)
	extra := `{"source":{"type":"base64","media_type":"` + mediaType + `","data":"` + data + `"}}`
	return protocol.Block{Type: "image", Extra: jsontext.Value(extra)}, imageFile{data, mediaType, int64(len(raw))}
}

// imageFormats are the formats that the API takes: how a file begins, and how it ends where nothing follows.
var imageFormats = []struct{ mediaType, magic, end string }{
	{"image/png", "\x89PNG\r\n\x1a\n", "IEND\xaeB`\x82"},
	{"image/jpeg", "\xff\xd8\xff", "\xff\xd9"},
	{"image/gif", "GIF87a", ";"},
	{"image/gif", "GIF89a", ";"},
	{"image/webp", "RIFF", ""},
}

// imageType tells which image begins with head, "" if none does. Names prove nothing.
func imageType(head []byte) string {
	for _, f := range imageFormats {
		if bytes.HasPrefix(head, []byte(f.magic)) && (f.magic != "RIFF" || len(head) >= 12 && string(head[8:12]) == "WEBP") {
			return f.mediaType
		}
	}
	return ""
}

// checkImage tells the type of an image, if it is one that can be shown.
func checkImage(raw []byte) (mediaType string, err error) {
	mediaType = imageType(raw)
	var width, height int
	switch mediaType {
	case "":
		return "", refuse("it is not PNG, JPEG, GIF or WebP")
	case "image/webp":
		width, height = webPSize(raw)
	default:
		if config, _, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
			width, height = config.Width, config.Height
		}
	}
	for _, f := range imageFormats {
		if f.mediaType == mediaType && !bytes.Contains(raw, []byte(f.end)) {
			width = 0
		}
	}
	switch {
	case width == 0 || height == 0:
		return mediaType, refuse("it is damaged or not complete")
	case width > maxImageSide || height > maxImageSide:
		return mediaType, refuse("it has %d × %d pixels, more than %d on a side: make a smaller copy with a shell command and Read that", width, height, maxImageSide)
	case len(raw) > maxImageBytes:
		return mediaType, refuse("it has %d bytes, more than %d: make a smaller copy with a shell command and Read that", len(raw), maxImageBytes)
	}
	return mediaType, nil
}

// webPSize reads the size out of a WebP file, which the standard library does not know; 0 if it is damaged.
func webPSize(raw []byte) (width, height int) {
	if len(raw) < 30 || int64(binary.LittleEndian.Uint32(raw[4:])) > int64(len(raw))-8 {
		return 0, 0
	}
	switch data := raw[20:]; string(raw[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(data[6:])) & 0x3FFF, int(binary.LittleEndian.Uint16(data[8:])) & 0x3FFF
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[1:])
		return int(bits&0x3FFF) + 1, int(bits>>14&0x3FFF) + 1
	case "VP8X":
		return int(binary.LittleEndian.Uint32(data[3:])>>8) + 1, int(binary.LittleEndian.Uint32(data[6:])>>8) + 1
	}
	return 0, 0
}
