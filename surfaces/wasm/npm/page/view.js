// The view: shows a model that pointer and keyboard rotate. Depends only on three.js, not on files.

import * as three from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';

const TURN = 0.12;

export class View {
  /** @param {Element} panel an element that covers part of the view; the model is shown beside it */
  constructor(canvas, panel) {
    this.panel = panel;
    this.renderer = new three.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.camera = new three.PerspectiveCamera(40, 1, 0.01, 100);
    this.camera.position.set(0, 0, 3);
    this.scene = new three.Scene();
    this.scene.add(new three.HemisphereLight(0xffffff, 0x667080, 1.6));
    const sun = new three.DirectionalLight(0xffffff, 1.8);
    sun.position.set(1, 2, 3);
    // The light is attached to the camera.
    this.camera.add(sun);
    this.scene.add(this.camera);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener('change', () => this.render());
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** Replaces the model. */
  show(model) {
    if (this.model) {
      this.scene.remove(this.model);
      this.model.traverse(({ geometry, material }) => {
        geometry?.dispose();
        for (const one of [material].flat()) {
          one?.map?.dispose();
          one?.dispose();
        }
      });
    }
    this.model = model;
    this.scene.add(model);
    this.resize();
    const sphere = new three.Box3().setFromObject(model).getBoundingSphere(new three.Sphere());
    const radius = sphere.radius > 0 && Number.isFinite(sphere.radius) ? sphere.radius : 1;
    // About two thirds of the view are not covered.
    const distance = (1.5 * radius) / Math.sin((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    Object.assign(this.camera, { near: distance / 1000, far: distance * 100 });
    this.camera.updateProjectionMatrix();
    const direction = new three.Vector3(0.5, 0.35, 1).normalize();
    this.controls.target.copy(sphere.center);
    this.camera.position.copy(sphere.center).addScaledVector(direction, distance);
    this.controls.update();
    this.render();
  }

  render() {
    this.renderer.render(this.scene, this.camera);
  }

  resize() {
    const { clientWidth, clientHeight } = this.renderer.domElement;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / Math.max(clientHeight, 1);
    // Beside the panel if there is room, or above it on a phone.
    const { right, top, width } = this.panel.getBoundingClientRect();
    const isBeside = width < clientWidth / 2;
    const [x, y] = isBeside ? [-right / 2, 0] : [0, (clientHeight - top) / 2];
    this.camera.setViewOffset(clientWidth, clientHeight, x, y, clientWidth, clientHeight);
    this.render();
  }

  /** Rotates with the arrow keys, zooms with plus and minus. */
  key(event) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const angles = new three.Spherical().setFromVector3(offset);
    const steps = {
      ArrowLeft: () => (angles.theta -= TURN),
      ArrowRight: () => (angles.theta += TURN),
      ArrowUp: () => (angles.phi -= TURN),
      ArrowDown: () => (angles.phi += TURN),
      '+': () => (angles.radius /= 1.15),
      '-': () => (angles.radius *= 1.15),
    };
    // With these modifiers, the browser handles plus and minus.
    if (!steps[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    steps[event.key]();
    this.camera.position.setFromSpherical(angles.makeSafe()).add(this.controls.target);
    this.controls.update();
  }
}
