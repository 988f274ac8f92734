import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.AnnotatedTypeVariable;
import java.lang.reflect.AnnotatedWildcardType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericDeclaration;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes what a module lets others see as text, and compares it with the text that is checked in.
 *
 * <p>The classes are loaded from the module path, in a module layer of their own, so this also
 * proves that the module descriptor resolves and that every exported type can be loaded. Nullness
 * annotations are part of the text; parameter names are not part of an API and are not.
 *
 * <p>The Maven build runs this for every published module; {@code docs/decisions/build-tools.md}
 * says why it is our own.
 */
final class ApiText {
  private final Module module;
  private final List<String> lines = new ArrayList<>();

  private ApiText(Module module) {
    this.module = module;
  }

  /** Arguments: check or update; the text file; the module's classes; its whole class path. */
  public static void main(String[] args) throws IOException {
    boolean update = args[0].equals("update");
    Path file = Path.of(args[1]);
    Path classes = Path.of(args[2]);
    if (!update && !args[0].equals("check")) {
      throw new IllegalArgumentException("-Dapi takes check or update, not " + args[0]);
    }
    if (Files.notExists(classes.resolve("module-info.class"))) {
      if (Files.exists(file)) {
        fail(file + " is there, but the module has no module-info");
      }
      return;
    }
    List<String> now = new ApiText(load(classes, args[3])).describe();
    List<String> before = Files.exists(file) ? Files.readAllLines(file) : List.of();
    if (now.equals(before)) {
      return;
    }
    if (update) {
      Files.writeString(file, String.join("\n", now) + "\n");
      System.out.println("Wrote " + file);
      return;
    }
    diff(before, now).forEach(System.err::println);
    fail("The public API is not what "
        + file
        + " says (lines above: - that text, + this build)."
        + " If the change is meant, run dev/update-api and commit the text with it.");
  }

  private static void fail(String message) {
    System.err.println(message);
    System.exit(1);
  }

  // Loading

  private static Module load(Path classes, String classPath) {
    Path[] path = Stream.of(classPath.split(System.getProperty("path.separator")))
        .map(Path::of)
        .filter(Files::exists)
        .toArray(Path[]::new);
    ModuleFinder finder = ModuleFinder.of(path);
    ModuleDescriptor descriptor =
        ModuleFinder.of(classes).findAll().iterator().next().descriptor();
    resolve(finder, Set.of(descriptor.name())); // as a user who has no optional dependency
    Set<String> roots = new TreeSet<>(Set.of(descriptor.name()));
    descriptor.requires().stream()
        .filter(r -> r.modifiers().contains(Requires.Modifier.STATIC))
        .map(Requires::name)
        .filter(name -> finder.find(name).isPresent())
        .forEach(roots::add);
    return resolve(finder, roots).findModule(descriptor.name()).orElseThrow();
  }

  private static ModuleLayer resolve(ModuleFinder finder, Set<String> roots) {
    ModuleLayer boot = ModuleLayer.boot();
    Configuration configuration =
        boot.configuration().resolve(finder, ModuleFinder.ofSystem(), roots);
    return boot.defineModulesWithOneLoader(configuration, ClassLoader.getSystemClassLoader());
  }

  private List<Class<?>> types(String packageName) throws IOException {
    String folder = packageName.replace('.', '/') + "/";
    try (var reader = module
            .getLayer()
            .configuration()
            .findModule(module.getName())
            .orElseThrow()
            .reference()
            .open();
        Stream<String> names = reader.list()) {
      return names
          .filter(name -> name.startsWith(folder) && name.endsWith(".class"))
          .filter(name -> name.indexOf('/', folder.length()) < 0)
          .filter(name -> !name.endsWith("package-info.class"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .<Class<?>>map(this::type)
          .filter(ApiText::isVisible)
          .sorted(Comparator.comparing(Class::getCanonicalName))
          .toList();
    }
  }

  private Class<?> type(String name) {
    try {
      return Class.forName(name, false, module.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isVisible(Class<?> type) {
    if (type.isAnonymousClass() || type.isLocalClass() || type.isSynthetic()) {
      return false;
    }
    Class<?> outer = type.getDeclaringClass();
    return isVisible(type.getModifiers()) && (outer == null || isVisible(outer));
  }

  private static boolean isVisible(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  // Describing

  private List<String> describe() throws IOException {
    ModuleDescriptor descriptor = module.getDescriptor();
    line("module " + descriptor.name());
    descriptor.requires().stream()
        .map(r -> Stream.concat(
                r.modifiers().stream().sorted().map(Object::toString), Stream.of(r.name()))
            .map(s -> s.equals(r.name()) ? s : s.toLowerCase(Locale.ROOT))
            .collect(Collectors.joining(" ", "  requires ", "")))
        .filter(s -> !s.endsWith(" java.base"))
        .sorted()
        .forEach(this::line);
    descriptor.exports().stream()
        .sorted()
        .map(e -> "  exports " + e.source() + targets(e.targets()))
        .forEach(this::line);
    descriptor.opens().stream()
        .sorted()
        .map(o -> "  opens " + o.source() + targets(o.targets()))
        .forEach(this::line);
    descriptor.uses().stream().sorted().map(u -> "  uses " + u).forEach(this::line);
    descriptor.provides().stream()
        .sorted()
        .map(p -> "  provides " + p.service() + " with " + String.join(", ", p.providers()))
        .forEach(this::line);
    List<String> exported = descriptor.exports().stream()
        .filter(e -> !e.isQualified())
        .map(ModuleDescriptor.Exports::source)
        .sorted()
        .toList();
    for (String name : exported) {
      line("");
      line(packageAnnotations(name) + "package " + name);
      for (Class<?> type : types(name)) {
        describe(type);
      }
    }
    return lines;
  }

  private static String targets(Set<String> targets) {
    return targets.isEmpty() ? "" : " to " + String.join(", ", new TreeSet<>(targets));
  }

  private String packageAnnotations(String name) {
    Class<?> info = Class.forName(module, name + ".package-info");
    return info == null ? "" : annotations(info, info);
  }

  private void describe(Class<?> type) {
    line("");
    line(header(type));
    List<String> members = new ArrayList<>();
    for (Class<?> from = type; from != null; from = hiddenParent(from)) {
      boolean inherited = from != type;
      Stream.of(from.getDeclaredFields())
          .filter(f -> isVisible(f.getModifiers()) && !f.isSynthetic())
          .map(f -> "  " + field(type, f))
          .forEach(members::add);
      if (!inherited && !type.isRecord()) {
        Stream.of(type.getDeclaredConstructors())
            .filter(c -> isVisible(c.getModifiers()) && !c.isSynthetic())
            .map(c -> "  " + constructor(type, c))
            .sorted()
            .forEach(members::add);
      }
      Stream.of(from.getDeclaredMethods())
          .filter(m -> isVisible(m.getModifiers()) && !m.isSynthetic() && !isImplied(type, m))
          .sorted(Comparator.comparing(Method::getName).thenComparing(m -> method(type, m)))
          .map(m -> "  " + method(type, m))
          .filter(m -> !members.contains(m))
          .forEach(members::add);
    }
    members.forEach(this::line);
  }

  /** A superclass that users cannot name: they see its members as those of the subclass. */
  private Class<?> hiddenParent(Class<?> type) {
    Class<?> parent = type.getSuperclass();
    return parent != null && parent.getModule() == module && !isVisible(parent) ? parent : null;
  }

  private static boolean isImplied(Class<?> type, Method method) {
    String name = method.getName();
    if (type.isEnum()) {
      return Modifier.isStatic(method.getModifiers())
          && (name.equals("values") || name.equals("valueOf"));
    }
    return type.isRecord()
        && (Stream.of(type.getRecordComponents()).anyMatch(c -> c.getAccessor().equals(method))
            || name.equals("toString")
            || name.equals("hashCode")
            || name.equals("equals"));
  }

  private String header(Class<?> type) {
    var text = new StringBuilder(annotations(type, type));
    int modifiers = type.getModifiers() & ~Modifier.INTERFACE;
    if (type.isInterface()) {
      modifiers &= ~(Modifier.ABSTRACT | Modifier.STATIC);
    } else if (type.isRecord() || type.isEnum()) {
      modifiers &= ~(Modifier.FINAL | Modifier.STATIC | Modifier.ABSTRACT);
    }
    text.append(Modifier.toString(modifiers & Modifier.classModifiers()));
    Stream<Class<?>> parents =
        Stream.concat(Stream.ofNullable(type.getSuperclass()), Stream.of(type.getInterfaces()));
    if (type.isSealed() && !type.isEnum()) {
      text.append(" sealed");
    } else if (!Modifier.isFinal(type.getModifiers()) && parents.anyMatch(Class::isSealed)) {
      text.append(" non-sealed");
    }
    String kind = type.isAnnotation()
        ? " @interface "
        : type.isInterface()
            ? " interface "
            : type.isEnum() ? " enum " : type.isRecord() ? " record " : " class ";
    text.append(kind);
    text.append(type.getCanonicalName().substring(type.getPackageName().length() + 1));
    text.append(typeParameters(type, type));
    if (type.isRecord()) {
      text.append(Stream.of(type.getRecordComponents())
          .map(c -> type(type, c.getAnnotatedType()) + " " + c.getName())
          .collect(Collectors.joining(", ", "(", ")")));
    }
    Class<?> parent = type.getSuperclass();
    if (parent != null
        && parent != Object.class
        && !type.isEnum()
        && !type.isRecord()
        && hiddenParent(type) == null) {
      text.append(" extends ").append(type(type, type.getAnnotatedSuperclass()));
    }
    String interfaces = Stream.of(type.getAnnotatedInterfaces())
        .map(i -> type(type, i))
        .collect(Collectors.joining(", "));
    if (!interfaces.isEmpty() && !type.isAnnotation()) {
      text.append(type.isInterface() ? " extends " : " implements ").append(interfaces);
    }
    if (type.isSealed() && !type.isEnum()) {
      text.append(Stream.of(type.getPermittedSubclasses())
          .map(c -> isVisible(c) ? name(type, c) : "(not public)")
          .distinct()
          .sorted()
          .collect(Collectors.joining(", ", " permits ", "")));
    }
    return text.toString();
  }

  private String field(Class<?> in, Field field) {
    if (field.isEnumConstant()) {
      return annotations(in, field) + field.getName();
    }
    int modifiers = field.getModifiers() & ~(Modifier.TRANSIENT | Modifier.VOLATILE);
    return annotations(in, field, field.getAnnotatedType())
        + modifiers(in, modifiers)
        + type(in, field.getAnnotatedType())
        + " "
        + field.getName()
        + constant(field);
  }

  /** The value of a constant is compiled into its users, so it is part of the API. */
  private static String constant(Field field) {
    int modifiers = field.getModifiers();
    boolean simple = field.getType().isPrimitive() || field.getType() == String.class;
    if (!simple || !Modifier.isStatic(modifiers) || !Modifier.isFinal(modifiers)) {
      return "";
    }
    try {
      if (!Modifier.isPublic(modifiers)) {
        return "";
      }
      Object value = field.get(null);
      return " = " + (value instanceof String ? "\"" + value + "\"" : value);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private String constructor(Class<?> in, Constructor<?> constructor) {
    return annotations(in, constructor)
        + Modifier.toString(constructor.getModifiers())
        + " "
        + typeParametersBefore(in, constructor)
        + in.getSimpleName()
        + parameters(in, constructor);
  }

  private String method(Class<?> in, Method method) {
    int implementation = Modifier.SYNCHRONIZED | Modifier.NATIVE | Modifier.STRICT;
    int modifiers = method.getModifiers() & Modifier.methodModifiers() & ~implementation;
    Object value = method.getDefaultValue();
    return annotations(in, method, method.getAnnotatedReturnType())
        + modifiers(in, modifiers)
        + (method.isDefault() ? "default " : "")
        + typeParametersBefore(in, method)
        + type(in, method.getAnnotatedReturnType())
        + " "
        + method.getName()
        + parameters(in, method)
        + (value == null ? "" : " default " + value);
  }

  private static String modifiers(Class<?> in, int modifiers) {
    int implied = in.isInterface() ? Modifier.PUBLIC | Modifier.ABSTRACT : 0;
    String text = Modifier.toString(modifiers & ~implied);
    return text.isEmpty() ? "" : text + " ";
  }

  private String parameters(Class<?> in, Executable executable) {
    String text = Stream.of(executable.getAnnotatedParameterTypes())
        .map(t -> type(in, t))
        .collect(Collectors.joining(", "));
    if (executable.isVarArgs()) {
      text = text.substring(0, text.length() - "[]".length()) + "...";
    }
    String thrown = Stream.of(executable.getAnnotatedExceptionTypes())
        .map(t -> type(in, t))
        .sorted()
        .collect(Collectors.joining(", "));
    return "(" + text + ")" + (thrown.isEmpty() ? "" : " throws " + thrown);
  }

  private String typeParametersBefore(Class<?> in, GenericDeclaration declaration) {
    String text = typeParameters(in, declaration);
    return text.isEmpty() ? "" : text + " ";
  }

  private String typeParameters(Class<?> in, GenericDeclaration declaration) {
    TypeVariable<?>[] variables = declaration.getTypeParameters();
    return variables.length == 0
        ? ""
        : Stream.of(variables)
            .map(v ->
                annotations(in, v) + v.getName() + bounds(in, " extends ", v.getAnnotatedBounds()))
            .collect(Collectors.joining(", ", "<", ">"));
  }

  private String bounds(Class<?> in, String keyword, AnnotatedType[] bounds) {
    String text = Stream.of(bounds).map(b -> type(in, b)).collect(Collectors.joining(" & "));
    return text.isEmpty() || text.equals("Object") ? "" : keyword + text;
  }

  private String type(Class<?> in, AnnotatedType type) {
    if (type instanceof AnnotatedArrayType array) {
      String own = annotations(in, array);
      return type(in, array.getAnnotatedGenericComponentType())
          + (own.isEmpty() ? "" : " " + own.stripTrailing())
          + "[]";
    }
    String own = annotations(in, type);
    if (type instanceof AnnotatedWildcardType wildcard) {
      String lower = bounds(in, " super ", wildcard.getAnnotatedLowerBounds());
      return own
          + "?"
          + (lower.isEmpty() ? bounds(in, " extends ", wildcard.getAnnotatedUpperBounds()) : lower);
    }
    if (type instanceof AnnotatedTypeVariable variable) {
      return own + variable.getType().getTypeName();
    }
    if (type instanceof AnnotatedParameterizedType parameterized) {
      Type raw = ((ParameterizedType) type.getType()).getRawType();
      return own
          + name(in, (Class<?>) raw)
          + Stream.of(parameterized.getAnnotatedActualTypeArguments())
              .map(t -> type(in, t))
              .collect(Collectors.joining(", ", "<", ">"));
    }
    return own + name(in, (Class<?>) type.getType());
  }

  private static final Set<String> UNDERSTOOD =
      Set.of("java.lang", "java.time", "java.util", "org.jspecify.annotations");

  private static String name(Class<?> in, Class<?> type) {
    String full = type.getCanonicalName();
    String packageName = type.getPackageName();
    return !type.isPrimitive()
            && (packageName.equals(in.getPackageName()) || UNDERSTOOD.contains(packageName))
        ? full.substring(packageName.length() + 1)
        : full;
  }

  private static String annotations(Class<?> in, AnnotatedElement element) {
    return Stream.of(element.getDeclaredAnnotations())
        .map(a -> annotation(in, a))
        .sorted()
        .collect(Collectors.joining());
  }

  /** Those of a declaration, less those that belong to its type, where they are shown. */
  private static String annotations(Class<?> in, AnnotatedElement element, AnnotatedType type) {
    List<Annotation> shown = Arrays.asList(type.getAnnotations());
    return Stream.of(element.getDeclaredAnnotations())
        .filter(a -> !shown.contains(a))
        .map(a -> annotation(in, a))
        .sorted()
        .collect(Collectors.joining());
  }

  private static String annotation(Class<?> in, Annotation annotation) {
    String text = annotation.toString();
    int open = text.indexOf('(');
    String values = open < 0 ? "" : text.substring(open);
    return "@" + name(in, annotation.annotationType()) + (values.equals("()") ? "" : values) + " ";
  }

  private void line(String text) {
    lines.add(text.stripTrailing());
  }

  // Comparing

  /** The lines that differ, each group under the type that it belongs to. */
  private static List<String> diff(List<String> before, List<String> now) {
    int[][] common = new int[before.size() + 1][now.size() + 1];
    for (int i = before.size() - 1; i >= 0; i--) {
      for (int j = now.size() - 1; j >= 0; j--) {
        common[i][j] = before.get(i).equals(now.get(j))
            ? common[i + 1][j + 1] + 1
            : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    List<String> out = new ArrayList<>();
    String heading = "";
    String shown = "";
    int i = 0;
    int j = 0;
    while (i < before.size() || j < now.size()) {
      if (i < before.size() && j < now.size() && before.get(i).equals(now.get(j))) {
        if (!now.get(j).startsWith(" ")) {
          heading = now.get(j);
        }
        i++;
        j++;
        continue;
      }
      if (!heading.equals(shown)) {
        out.add("  " + heading);
        shown = heading;
      }
      if (j == now.size() || (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
        out.add("- " + before.get(i++));
      } else {
        out.add("+ " + now.get(j++));
      }
    }
    return out;
  }
}
