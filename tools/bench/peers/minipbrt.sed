# From pbrt-v4 to what minipbrt knows of pbrt-v3: materials and lights are not its time.
s/^( *MakeNamedMaterial "[^"]*").*/\1 "string type" "matte"/
s/^( *Material) .*/\1 "matte"/
s/^Integrator .*/Integrator "path"/
s/^Film "rgb"/Film "image"/
s/"bool ([a-z]+)" (true|false)/"bool \1" "\2"/
/^ *(Option|ColorSpace|Texture|MakeNamedMedium|MediumInterface|PixelFilter|Sampler|LightSource) /d
/^ +"rgb sigma_s"/d
