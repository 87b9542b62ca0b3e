// A picture from the reader's camera, where the browser lets a page ask for one.
import { button } from "../kit/controls.js";
import { make } from "../kit/dom.js";

/** A page on a disk and one without https get no camera. */
export const hasCamera = () => isSecureContext && location.protocol !== "file:" && Boolean(navigator.mediaDevices?.getUserMedia);

/** What the camera sees, a button that takes it, one that closes. A promise; it fails where the reader or the browser refuses. */
export async function cameraBox(take) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } }).catch(() => {
    throw new Error("The browser gives this page no camera.");
  });
  const video = make("video", { autoplay: true, muted: true, playsInline: true, srcObject: stream, ariaLabel: "What the camera sees" });
  const shoot = button("Take this picture");
  const close = button("Close the camera");
  const element = make("div", { class: "vbx-camera" }, video, make("div", { class: "vbx-tools" }, shoot, close));
  const end = () => {
    for (const track of stream.getTracks()) track.stop();
    element.remove();
  };
  close.addEventListener("click", end);
  shoot.addEventListener("click", () => {
    const canvas = make("canvas", { width: video.videoWidth, height: video.videoHeight });
    canvas.getContext("2d").drawImage(video, 0, 0);
    canvas.toBlob((blob) => take(new File([blob], "from the camera.png", { type: "image/png" })), "image/png");
    end();
  });
  return { element, end };
}
